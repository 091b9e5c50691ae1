"""Options of commands that take forests, and what is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tunesmith.arrays import Floats
    from tunesmith.data.forests import Forests
    from tunesmith.data.weights import Weights
    from tunesmith.metrics.forest_tuning import ForestOptions

ForestFiles = Annotated[
    list[str],
    typer.Option(
        "--forests",
        help="Forests or lattices, files or folders in any format; repeat it for several.",
        show_default=False,
        metavar="PATH",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory to use, as 1GiB; of forests that take more, a part is loaded at a time.",
        show_default=False,
        metavar="SIZE",
    ),
]
Search = Annotated[
    str,
    typer.Option(
        "--forest-search",
        help="How hope and fear are found in forests for BLEU: by reranking, by linear BLEU, or "
        "among the best of the model.",
        metavar="rerank|linear|kbest",
    ),
]
ListSize = Annotated[
    int,
    typer.Option(
        "--list-size", help="Derivations in a list that is made of a forest.", metavar="INTEGER"
    ),
]
Lists = Annotated[
    str,
    typer.Option(
        "--forest-lists",
        help="What a tuner of lists gets of a forest: the best, or samples of all.",
        metavar="kbest|samples",
    ),
]
Prune = Annotated[
    str | None,
    typer.Option(
        help="Leave out hyperedges under the weights: posterior:P (less likely), beam:X (no "
        "derivation within X of the best score), density:N (so many for each word at most).",
        show_default=False,
        metavar="KIND:VALUE",
    ),
]


def one_kind(candidates: list[str], forests: list[str]) -> None:
    """Raise an error unless there are either lists or forests."""
    if bool(candidates) == bool(forests):
        raise UsageError(
            "either --candidates or --forests is needed; give lists, or forests and lattices"
        )


def read_forest_files(
    forests: list[str], references: list[str], format_name: str | None, memory: str | None
) -> Forests:
    """Read forests within the memory that is given."""
    from tunesmith.io.read_forests import read_forests

    set_memory(memory)
    return read_forests(forests, references, format_name)


def set_memory(memory: str | None) -> None:
    """Set the limit that a user gives."""
    from tunesmith.data.memory import set_budget

    if memory is not None:
        set_budget(memory)


def forest_options(search: str, size: int, lists: str) -> ForestOptions:
    """Return how forests are searched."""
    from tunesmith.metrics.forest_tuning import ForestOptions

    return ForestOptions(cast("Any", search), size, cast("Any", lists))  # checked there


def pruned(forests: Forests, how: str, weights: Weights) -> Forests:
    """Prune forests as an option says, under weights."""
    from tunesmith.errors import UnknownNameError
    from tunesmith.inference.forest_prune import prune_beam, prune_density, prune_posterior

    ways: dict[str, Callable[..., Forests]] = {
        "posterior": prune_posterior,
        "beam": prune_beam,
        "density": prune_density,
    }
    kind, _, text = how.partition(":")
    if kind not in ways:
        raise UnknownNameError("way to prune", kind, ways)
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"--prune is '{how}'; write {kind}:NUMBER") from None
    return ways[kind](forests, weights.matched(forests.names), value)


def write_lists(
    forests: Forests, weights: Floats, size: int, out: str, format_name: str | None = None
) -> None:
    """Write the best distinct derivations of each forest as a list.

    Without a format it is that of the ending of ``out``, or Moses'.
    """
    import numpy as np

    from tunesmith.inference.forest_lists import kbest_lists
    from tunesmith.io.formats import FORMATS
    from tunesmith.io.write import format_of

    if size < 1:
        raise UsageError(f"a list has {size} derivations; give 1 or more")
    if format_name is None:
        try:
            format_name = format_of(out)
        except UsageError:
            format_name = "moses"
    writer = FORMATS.create(format_name)
    lists = kbest_lists(forests, weights, size)
    writer.write(lists, np.arange(len(lists)), lists.features.dot(weights), out)
