"""Options that are added to commands: of execution, of the device, of reading."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.errors import UsageError


def with_options(
    function: Callable[..., None],
    run: Callable[..., None],
    renamed: Mapping[str, Any] | None = None,
) -> Callable[..., None]:
    """Return ``run``, which calls a command, with the command's options before its own.

    Parameters
    ----------
    function
        The command.
    run
        Takes options of its own, and ``options``, those of the command.
    renamed
        Other annotations for options of ``run``.
    """
    before = inspect.signature(function, eval_str=True).parameters
    added = dict(inspect.signature(run, eval_str=True).parameters)
    del added["options"]
    for name, annotation in (renamed or {}).items():
        added[name] = added[name].replace(annotation=annotation)
    for name in added:
        if name in before:
            flag = name.replace("_", "-")
            raise UsageError(f"two options are called --{flag}; rename that of your own class")
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in (*before.values(), *added.values())
        ]
    )
    run.__doc__ = function.__doc__
    return run
