"""References whose lines begin with the id of their group, as Kaldi's file ``text``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tunesmith.arrays import Ids
from tunesmith.data.candidates import GroupId, Texts
from tunesmith.errors import FormatError

#: Numbers that begin all lines are ids if there are so many groups; fewer may be chance.
ENOUGH = 4


def are_keyed(texts: Texts, words: Sequence[str], ids: Collection[GroupId]) -> bool:
    """Tell whether lines begin with ids: where these are texts, or are numbers that all begin one.

    Parameters
    ----------
    texts, words
        The lines of a file, and its vocabulary.
    ids
        Those of all groups.
    """
    if any(isinstance(i, str) for i in ids):
        return True
    first = [words[texts[line][0]] for line in range(len(texts)) if len(texts[line])]
    distinct = set(first)
    return len(ids) >= ENOUGH and len(distinct) == len(first) and {*map(str, ids)} <= distinct


def by_id(
    name: str, texts: Texts, words: Sequence[str], ids: Collection[GroupId]
) -> dict[GroupId, Ids]:
    """Return the reference of each group; a missing one, or two of one id, are an error."""
    wanted = {*map(str, ids)}
    references: dict[str, Ids] = {}
    for line in range(len(texts)):
        tokens = texts[line]
        if not len(tokens):
            continue
        key = words[tokens[0]]
        if key in references and key in wanted:
            problem = f"the id '{key}' begins a line before too"
            raise FormatError(name, line + 1, problem, "give one line per id")
        references[key] = tokens[1:]
    lacking = next((i for i in ids if str(i) not in references), None)
    if lacking is not None:
        problem = f"no line begins with the id '{lacking}'"
        remedy = "where ids are texts, write the id and the reference on each line"
        raise FormatError(name, None, problem, remedy)
    return {i: references[str(i)] for i in ids}
