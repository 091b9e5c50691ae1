"""``tunesmith list``: what there is."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import Json, print_json
from tunesmith.errors import UnknownNameError
from tunesmith.registry import Registry, options_of

SCHEMA = "tunesmith.list/1"
KINDS = (
    *("tuners", "metrics", "formats", "forest-formats", "weights-formats", "decoders"),
    *("features", "directions"),
    *("objectives", "samplers", "selections", "acceptances", "learners"),
)


def run(
    *,
    session: Session,
    kind: Annotated[
        str | None, typer.Argument(help=" | ".join(KINDS) + "; all by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List tuners, metrics, formats, decoders and the parts of tuners, with their options."""
    from tunesmith._version import __version__
    from tunesmith.metrics.candidate_scorer import PRESETS

    entries = []
    for name in KINDS if kind is None else (kind,):
        registry = _registry(name)
        entries += [{"kind": name, **_entry(registry, n)} for n in registry.names()]
        if name == "objectives":
            entries += [{"kind": name, **_preset(*preset)} for preset in PRESETS.items()]
    if as_json:
        header = {"schema": SCHEMA, "signature": f"list|version:tunesmith-{__version__}"}
        print_json({**header, "entries": entries})
        return
    last = kind
    for entry in entries:
        if entry["kind"] != last:
            last = entry["kind"]
            typer.echo(f"# {last}")
        typer.echo(f"{entry['usage']}: {entry['help']}")
        for option in entry["options"]:
            choices = f" ({' | '.join(option['choices'])})" if option["choices"] else ""
            typer.echo(
                f"    {option['name']}={_shown(option['default'])}: {option['help']}{choices}"
            )


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _registry(kind: str) -> Registry[Any]:
    from tunesmith.decoders.base import DECODERS
    from tunesmith.derived.base import DERIVED
    from tunesmith.io.forests.base import FOREST_FORMATS
    from tunesmith.io.lists.base import FORMATS
    from tunesmith.io.weights.base import WEIGHTS_FORMATS
    from tunesmith.metrics.base import METRICS
    from tunesmith.metrics.candidate_scorer import OBJECTIVES
    from tunesmith.search.directions.base import DIRECTIONS
    from tunesmith.tuners.base import TUNERS
    from tunesmith.tuners.pro.acceptance import ACCEPTANCES
    from tunesmith.tuners.pro.pairs import SAMPLERS
    from tunesmith.tuners.pro.ranking import LEARNERS
    from tunesmith.tuners.pro.selection import SELECTIONS

    in_order: tuple[Registry[Any], ...] = (
        *(TUNERS, METRICS, FORMATS, FOREST_FORMATS, WEIGHTS_FORMATS, DECODERS),
        *(DERIVED, DIRECTIONS, OBJECTIVES, SAMPLERS, SELECTIONS, ACCEPTANCES, LEARNERS),
    )
    registries = dict(zip(KINDS, in_order, strict=True))
    if kind not in registries:
        raise UnknownNameError("kind of thing", kind, registries)
    return registries[kind]


def _preset(name: str, spec: str) -> dict[str, Any]:
    """Return the entry of a short name for an objective with its options."""
    return {"name": name, "usage": name, "help": f"the same as {spec}", "options": []}


def _usage(cls: type[Any], name: str) -> str:
    if getattr(cls, "takes_parts", False):
        return f"{name}(METRIC,...)"
    if hasattr(cls, "usage"):
        return str(cls.usage())
    return f"{name}:NAME" if hasattr(cls, "takes_text") else name


def _entry(registry: Registry[Any], name: str) -> dict[str, Any]:
    cls = registry.get(name)
    # A field that takes all of the text after the name is in the usage already.
    options = [o for o in options_of(cls) if o.field != getattr(cls, "takes_text", None)]
    return {
        "name": name,
        "usage": _usage(cls, name),
        "help": (inspect.getdoc(cls) or "").split("\n")[0].replace("``", ""),
        "options": [
            {"name": o.flag, "default": o.default, "help": o.help, "choices": list(o.choices)}
            for o in options
        ],
    }
