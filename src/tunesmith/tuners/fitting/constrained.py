"""Restrictions on weights as options of a tuner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.registry import Options, Texts, option
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space


def _texts(flag: str, restrictions: str | Iterable[str] | Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(restrictions, str):
        return (restrictions,)
    if isinstance(restrictions, Mapping):
        return tuple(f"{name}={_value(flag, value)}" for name, value in restrictions.items())
    texts = tuple(restrictions)
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None:
        raise UsageError(f"{flag} holds {wrong!r}; give texts, as on the command line")
    return texts


def _value(flag: str, value: object) -> str:
    """Return a value as text: a number, or of bounds a range, whose sides may be None."""
    if isinstance(value, str):
        return value
    if flag == "bound" and isinstance(value, tuple | list) and len(value) == 2:
        return ":".join("" if side is None else repr(_number(flag, side)) for side in value)
    return repr(_number(flag, value))


def _number(flag: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        form = "write a range as '0:1', or as (0, None)" if flag == "bound" else "give a number"
        raise UsageError(f"{flag} holds {value!r}; {form}") from None


@dataclass(frozen=True, kw_only=True)
class Constrained(Options):
    """What a tuner inherits, before ``Tuner``, to take restrictions on weights.

    It uses :meth:`space` in ``tune``, and keeps its weights inside. Each field is a list of
    texts, one text, or a mapping from names to what stands behind the sign.
    """

    fix: Texts = option(
        (),
        "fix a weight at this value, or all that a pattern matches",
        "NAME=VALUE",
        convert=_texts,
    )
    bound: Texts = option(
        (),
        "the range of a weight, or of all that a pattern such as rm_* "
        "matches; either side may be left out",
        "NAME=LOW:HIGH",
        convert=_texts,
    )
    tie: Texts = option((), "weights that are equal", "NAME=NAME", convert=_texts)
    scale_together: Texts = option(
        (),
        "weights that keep the ratios of their starting weights",
        "NAME,NAME",
        convert=_texts,
    )
    non_negative: bool = option(False, "no weight is below 0")
    sum_to_one: bool = option(False, "the weights add up to 1; none may be negative")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.constraints()

    def constraints(self) -> Constraints:
        """Return what the options ask for, not yet held against any data."""
        return Constraints.parse(**self.restrictions)

    @property
    def restrictions(self) -> dict[str, Any]:
        """The options that restrict weights, to be those of another tuner."""
        return {option.name: getattr(self, option.name) for option in fields(Constrained)}

    def space(self, names: tuple[str, ...], start: Floats) -> Space:
        """Return what the weights of some features may be."""
        return Space.of(names, start, self.constraints())
