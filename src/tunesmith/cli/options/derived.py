"""The option of features that are derived here, and those that weights are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tunesmith.derived.base import Derived

DerivedFeatures = Annotated[
    list[str],
    typer.Option(
        "--feature",
        help="Derive a feature: words, chars, punctuation, pieces:FILE, "
        "unknown[:FILE]; of lists also balance, agreement[:METRIC], vote[:ANSWER], "
        "rank[:FEATURE], per:LENGTH^EXPONENT:FEATURE; see `tunesmith list features`. Repeat it for "
        "several.",
        show_default=False,
        metavar="NAME",
    ),
]


def derived_features(
    features: Sequence[str], *weights: tuple[str | None, Iterable[str]]
) -> list[Derived]:
    """Return the features that are asked for, and those that weights are for.

    Parameters
    ----------
    features
        As users write them.
    weights
        Files of weights, and the names in them.
    """
    from tunesmith.derived.base import PREFIX, derived_in, derived_of

    derived = [derived_of(spec) for spec in features]
    names = [feature.feature for feature in derived]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--feature {name.removeprefix(PREFIX)} is given twice; give it once")
    return derived + [f for path, weight_names in weights for f in derived_in(weight_names, path)]


def check_underived(weights: Iterable[str], path: str | None) -> None:
    """Raise an error if weights are for derived features: a decoder does not have them."""
    from tunesmith.derived.base import PREFIX

    for name in weights:
        if name.startswith(PREFIX):
            raise UsageError(
                f"{path}: '{name}' is derived from lists or forests, and a decoder has no such "
                "feature; leave its weight out"
            )
