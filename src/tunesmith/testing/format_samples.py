"""Sets for a format of candidates to write and read back, from the rich to the plain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.samples import Candidate, Group, as_set, noisy, sentence

#: Names of features; the last two are on few candidates.
FEATURES = ("lm", "tm_1", "tm_2", "word-penalty", "rare:ä", "rare:b")
#: Values that a careless writer or reader changes.
VALUES = (
    *(0.1, 1 / 3, -2.5e-7, 1e-300, -1.7976931348623157e308, 5e-324, -0.0, 0.0),
    *(123456789.12345679, 1e22, -9007199254740993.0, 0.30000000000000004, 7.0, -1.0),
)


@cache
def sets(holds: frozenset[str], features: tuple[str, ...] = FEATURES) -> dict[str, CandidateSet]:
    """Return sets by their content; a writer may refuse some, with a UsageError.

    Parameters
    ----------
    holds
        What a format has a place for, of ``references``, ``sources`` and ``columns``.
    features
        Names of features.
    """
    rich = _rich(features)
    text_ids = [replace(g, id=f"doc-{g.id}ä") for g in rich]
    plain = _plain("score" if features == FEATURES else features[0])
    groups = {
        "a set with sparse features": rich,
        "a set whose ids are texts": text_ids,
        "a plain set": plain,
    }
    if holds:
        groups |= {
            "a set with all that it holds": _with_inputs(rich, holds, several=True),
            "a set with one reference each": _with_inputs(rich, holds, several=False),
            "a plain set with one reference each": _with_inputs(plain, holds, several=False),
        }
    candidate_sets = {description: as_set(some) for description, some in groups.items()}
    if "columns" in holds:
        candidate_sets["a set of statistics without texts"] = _statistics(plain)
    return candidate_sets


def _rich(features: Sequence[str]) -> list[Group]:
    """Return groups of different sizes, with gaps between ids and with sparse features."""
    rng = np.random.default_rng(11)
    common = features if len(features) < 3 else features[: -(len(features) // 3)]
    rare = features[len(common) :]
    groups = []
    used = 0
    for g, size in ((0, 4), (3, 1), (4, 6), (11, 3), (12, 5)):
        text = sentence(rng)
        candidates = []
        for k in range(size):
            values = {}
            for name in common:
                values[name] = VALUES[used % len(VALUES)]
                used += 1
            # The first name tells candidates apart, whatever the others are.
            values[common[0]] = float(np.round(rng.normal(), 6)) if k % 2 else -1.5 - used / 7
            if rare and k % 4 == 2:
                values[rare[g % len(rare)]] = float(rng.integers(1, 5)) / 3
            candidate_text = "" if (g, k) == (4, 1) else noisy(text, rng)
            candidates.append(Candidate(candidate_text, values))
        groups.append(Group(g, tuple(candidates)))
    return groups


def _plain(name: str) -> list[Group]:
    """Return groups of three candidates, ids from 0, with one feature."""
    rng = np.random.default_rng(12)
    groups = []
    for g in range(4):
        text = sentence(rng)
        candidates = tuple(
            Candidate(
                f"{noisy(text, rng)} {k}", {name: -0.125 - VALUES[k] if k < 3 else 0.1 + 3 * g + k}
            )
            for k in range(3)
        )
        groups.append(Group(g, candidates))
    return groups


def _with_inputs(groups: Sequence[Group], holds: frozenset[str], several: bool) -> list[Group]:
    rng = np.random.default_rng(13)
    extended = []
    for place, group in enumerate(groups):
        references = tuple(sentence(rng) for _ in range(1 + place % 3 if several else 1))
        columns = [
            {"comet": float(rng.uniform()), "per-word ä": float(rng.normal())}
            for _ in group.candidates
        ]
        extended.append(
            replace(
                group,
                references=references if "references" in holds else (),
                source=sentence(rng) if "sources" in holds else None,
                candidates=tuple(
                    replace(candidate, columns=c if "columns" in holds else {})
                    for candidate, c in zip(group.candidates, columns, strict=True)
                ),
            )
        )
    return extended


def _statistics(groups: Sequence[Group]) -> CandidateSet:
    """Return a set with the statistics of BLEU as columns, and without texts."""
    rng = np.random.default_rng(14)
    whole = [replace(group, references=(sentence(rng),)) for group in groups]
    counted = TuningSet(as_set(whole), "bleu")
    names = counted.metric.statistic_columns()
    rows = iter(counted.stats.astype(float).tolist())
    return as_set(
        [
            replace(
                group,
                candidates=tuple(
                    replace(candidate, text="", columns=dict(zip(names, next(rows), strict=True)))
                    for candidate in group.candidates
                ),
            )
            for group in groups
        ]
    )


def contents(candidates: CandidateSet) -> dict[Any, dict[str, Any]]:
    """Return a set as plain values: group -> texts, features that are not 0, and the rest."""
    features = candidates.features
    sparse = features.sparse.toarray()
    groups = {}
    for g, i in enumerate(candidates.ids):
        rows = []
        for k in range(candidates.start[g], candidates.start[g + 1]):
            values = dict(zip(features.dense_names, features.dense[:, k].tolist(), strict=True))
            values |= dict(zip(features.sparse_names, sparse[k].tolist(), strict=True))
            columns = {name: float(column[k]) for name, column in candidates.columns.items()}
            rows.append((candidates.text(k), {n: v for n, v in values.items() if v}, columns))
        groups[i] = {
            "candidates": rows,
            "references": candidates.reference_texts(g),
            "source": None if candidates.sources is None else candidates.sources[g],
        }
    return groups


def texts_alone(groups: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return contents without numbers, and each text of a group once."""
    return {
        i: group
        | {"candidates": [(t, {}, {}) for t in dict.fromkeys(c[0] for c in group["candidates"])]}
        for i, group in groups.items()
    }


def first_difference(written: dict[Any, Any], read: dict[Any, Any]) -> str | None:
    """Describe the first difference of two contents; None if they are the same."""
    if list(written) != list(read):
        return f"the groups are {_few(read)}, were {_few(written)}"
    for i, group in written.items():
        for key in ("references", "source"):
            if group[key] != read[i][key]:
                return f"{key} of group {i!r} is {read[i][key]!r}, was {group[key]!r}"
        rows, others = group["candidates"], read[i]["candidates"]
        if len(rows) != len(others):
            return f"group {i!r} has {len(others)} candidates, had {len(rows)}"
        for k, (row, other) in enumerate(zip(rows, others, strict=True)):
            for part, a, b in zip(("text", "features", "columns"), row, other, strict=True):
                if a != b:
                    shown = _differing(a, b) if isinstance(a, dict) else f"{b!r}, was {a!r}"
                    return f"candidate {k} of group {i!r}: {part} {shown}"
    return None


def _differing(written: dict[str, float], read: dict[str, float]) -> str:
    name = next(n for n in {**written, **read} if written.get(n) != read.get(n))
    return f"'{name}' is {read.get(name, 'missing')!r}, was {written.get(name, 'missing')!r}"


def _few(ids: dict[Any, Any]) -> str:
    shown = ", ".join(repr(i) for i in list(ids)[:6])
    return f"{shown} ... ({len(ids)})" if len(ids) > 6 else shown
