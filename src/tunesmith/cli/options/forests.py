"""Options of commands that take forests, and what is done with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tunesmith.arrays import Floats
    from tunesmith.data.forests import Forests
    from tunesmith.derived.base import Derived
    from tunesmith.io.lists.base import CandidateFormat
    from tunesmith.metrics.scored_forests import ForestOptions
    from tunesmith.tasks.forests import ForestTuning

#: Derivations in a list that is made of a forest.
USUAL_SIZE = 100
#: Ways to prune, and which number goes with each.
PRUNINGS = {"posterior": "from 0 to 1", "beam": "0 or more", "density": "above 0"}

ForestFiles = Annotated[
    list[str],
    typer.Option(
        "--forests",
        help="Forests or lattices in any format, files (- is standard input) or folders; repeat it "
        "for several.",
        show_default=False,
        metavar="PATH",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory to use, such as 1GiB; larger sets are read in parts.",
        show_default=False,
        metavar="SIZE",
    ),
]
Search = Annotated[
    str,
    typer.Option(
        "--forest-search",
        help="How hope and fear are found in forests: by reranking or by linear "
        "BLEU, both for BLEU with the objective document, or among the "
        "model's best derivations; auto is rerank if possible.",
        metavar="auto|rerank|linear|kbest",
    ),
]
ListSize = Annotated[
    int,
    typer.Option("--list-size", help="Derivations per list made from a forest.", metavar="INTEGER"),
]
Lists = Annotated[
    str,
    typer.Option(
        "--forest-lists",
        help="Which derivations of a forest a tuner of lists receives: the best, or samples.",
        metavar="kbest|samples",
    ),
]
Prune = Annotated[
    str | None,
    typer.Option(
        help="Prune the forests under the weights: "
        "posterior:P (less likely), beam:X (no derivation within X of the best score), density:N "
        "(at most N for each word).",
        show_default=False,
        metavar="KIND:VALUE",
    ),
]


def one_kind(candidates: list[str], forests: list[str]) -> None:
    """Raise an error unless there are either lists or forests."""
    if candidates and forests:
        raise UsageError("--candidates and --forests are both given; give one of them")
    if not candidates and not forests:
        raise UsageError(
            "either --candidates or --forests is needed; give lists, or forests and lattices"
        )


def read_forest_files(
    forests: list[str],
    references: list[str],
    format_name: str | None,
    derived: Sequence[Derived] = (),
) -> Forests:
    """Read forests, and derive further features."""
    from tunesmith.io.forests.read import read_forests

    forest_set = read_forests(forests, references, format_name)
    if derived:
        from tunesmith.derived.adding import derive

        forest_set = derive(forest_set, derived)
    return forest_set


def set_memory(memory: str | None) -> None:
    """Set the limit that a user gives."""
    from tunesmith.data.memory import set_budget

    if memory is not None:
        set_budget(memory)


def forest_options(search: str, size: int, lists: str, are_given: bool) -> ForestOptions:
    """Return how forests are searched; an option that has no effect is an error."""
    from tunesmith.metrics.scored_forests import ForestOptions

    usual, options = ForestOptions(), ForestOptions(cast("Any", search), size, cast("Any", lists))
    changed = {
        "--forest-search": search != usual.search,
        "--list-size": size != usual.size,
        "--forest-lists": lists != usual.lists,
    }
    for flag, is_changed in changed.items():
        if is_changed and not are_given:
            raise UsageError(f"{flag} goes with --forests; drop it")
    return options


@dataclass(frozen=True)
class Pruning:
    """How forests are pruned: ``posterior``, ``beam`` or ``density``, and the number for it."""

    kind: str
    value: float

    @classmethod
    def of(cls, text: str) -> Pruning:
        """Take what a user writes apart, before anything is read."""
        from tunesmith.errors import UnknownNameError

        kind, _, number = text.partition(":")
        if kind not in PRUNINGS:
            raise UnknownNameError("way to prune", kind, PRUNINGS)
        try:
            value = float(number)
        except ValueError:
            raise UsageError(f"--prune is '{text}'; write {kind}:NUMBER") from None
        fits = {"posterior": value <= 1.0, "beam": True, "density": value > 0.0}
        if not (0.0 <= value < math.inf and fits[kind]):
            raise UsageError(f"--prune is '{text}'; give a number {PRUNINGS[kind]}")
        return cls(kind, value)

    def pruned(self, forests: Forests, weights: Floats) -> Forests:
        """Prune forests under weights."""
        from tunesmith.inference.forests.prune import prune_beam, prune_density, prune_posterior

        ways: dict[str, Callable[..., Forests]] = {
            "posterior": prune_posterior,
            "beam": prune_beam,
            "density": prune_density,
        }
        return ways[self.kind](forests, weights, self.value)

    def applied(self, tuning: ForestTuning, weights: Floats) -> ForestTuning:
        """Prune what is tuned on, and say so in its signature."""
        from tunesmith.tasks.forests import ForestTuning

        options = replace(tuning.options, pruning=f"{self.kind}:{self.value:g}")
        return ForestTuning(self.pruned(tuning.forests, weights), tuning.metric, options)


def check_size(size: int) -> None:
    """Raise an error if lists would be empty."""
    if size < 1:
        raise UsageError(f"lists have {size} derivations; give 1 or more")


def list_writer(out: str, format_name: str | None) -> CandidateFormat:
    """Return who writes lists: the format given, that of the ending of ``out``, or Moses'."""
    from tunesmith.io.lists.base import FORMATS
    from tunesmith.io.write import format_of

    if format_name is None:
        try:
            format_name = format_of(out)
        except UsageError:
            format_name = "moses"
    return FORMATS.create(format_name)


def write_lists(
    forests: Forests, weights: Floats, size: int, out: str, writer: CandidateFormat
) -> None:
    """Write the best distinct derivations of each forest as a list."""
    import numpy as np

    from tunesmith.inference.forests.lists import kbest_lists

    lists = kbest_lists(forests, weights, size)
    writer.write(lists, np.arange(len(lists)), lists.features.dot(weights), out)
