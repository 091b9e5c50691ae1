from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import Loss, Mean, tuning_set
from tests.helpers.tiers import examples
from tunesmith.errors import UsageError
from tunesmith.metrics.candidate_scorer import CandidateScorer, objective_of
from tunesmith.metrics.lengths import lengths_of
from tunesmith.tuners.pro.acceptance import ACCEPTANCES
from tunesmith.tuners.pro.gathering import (
    Describer,
    PairSteps,
    gather,
    has_monsters,
    sentence_scores,
)
from tunesmith.tuners.pro.pairs import SAMPLERS
from tunesmith.tuners.pro.selection import SELECTIONS


def steps_of(select=("all",), accept="all", sample="uniform") -> PairSteps:
    return PairSteps(
        SAMPLERS.create(sample),
        [(name, SELECTIONS.create(name)) for name in select],
        ACCEPTANCES.create(accept),
    )


class Given(CandidateScorer):
    """Values as given; it notes what is asked and chosen."""

    def __init__(self, tuning, values):
        self.stats = tuning.stats
        self.given = np.array(values, float)
        self.asked: list[tuple[int, int]] = []
        self.added: list[float] = []

    def values(self, first, last):
        self.asked.append((first, last))
        return self.given[first:last]

    def add(self, stats):
        self.added.append(float(stats[0]))


def random_set(seed: int):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, rng.integers(1, 6)).tolist()
    values = [(rng.integers(0, 9, size) / 8.0).tolist() for size in sizes]
    tuning = tuning_set([[[float(rng.normal())] for _ in range(size)] for size in sizes], values)
    return tuning, [v for group in values for v in group], rng


@settings(max_examples=examples(80))
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_steps_are_taken_group_by_group(seed, most):
    tuning, values, rng = random_set(seed)
    scorer = Given(tuning, values)
    steps = steps_of(("difference:least=0.25",), f"greatest:pairs={most}")
    start = tuning.candidates.start.tolist()
    expected = []
    for lo, hi in itertools.pairwise(start):
        inside = range(lo, hi)
        apart = [values[i] - values[j] for i in inside for j in inside]
        expected.append(sorted((d for d in apart if d >= 0.25), reverse=True)[:most])
    different = any(len(set(values[a:b])) > 1 for a, b in itertools.pairwise(start))
    if different and not any(expected):
        with pytest.raises(UsageError, match="no pair of candidates is left"):
            gather(tuning, scorer, steps, None, rng)
        return
    found = gather(tuning, scorer, steps, None, rng)
    of_group = np.searchsorted(start, found.better, side="right") - 1
    assert (np.searchsorted(start, found.worse, side="right") - 1).tolist() == of_group.tolist()
    assert sorted(of_group.tolist()) == of_group.tolist()
    for g, wanted in enumerate(expected):
        own = of_group == g
        differences = [
            values[i] - values[j] for i, j in zip(found.better[own], found.worse[own], strict=True)
        ]
        assert sorted(differences, reverse=True) == wanted
    assert found.counts.groups == len(expected)
    assert found.counts.groups_without == sum(not wanted for wanted in expected)
    # The positives of each group were reported, after its values had been asked for once.
    assert sorted(scorer.added) == sorted(values[i] for i in found.better)
    assert sorted(scorer.asked) == [(a, b) for a, b in itertools.pairwise(start) if b - a > 1]


def test_groups_come_in_random_order():
    tuning = tuning_set([[[0.0], [1.0]]] * 30, [[0.0, 1.0]] * 30)
    orders = []
    for seed in (1, 2):
        scorer = Given(tuning, [0.0, 1.0] * 30)
        gather(tuning, scorer, steps_of(), None, np.random.default_rng(seed))
        orders.append(scorer.asked)
    assert orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])


def test_what_removed_most_is_named():
    tuning = tuning_set([[[0.0], [1.0], [2.0]]], [[0.0, 0.01, 0.3]])
    scorer = Given(tuning, [0.0, 0.01, 0.3])
    rng = np.random.default_rng(1)
    limits = "difference:least=0.05", "difference:least=0.5"
    # Whichever comes first: the one that leaves nothing by itself is to blame.
    for order in (limits, limits[::-1]):
        with pytest.raises(
            UsageError, match=r"of 3 that differ, selection difference:least=0.5 removes 3; relax"
        ):
            gather(tuning, scorer, steps_of(order), None, rng)


def test_nothing_differs():
    tuning = tuning_set([[[0.0], [1.0]], [[3.0]]], [[0.5, 0.5], [0.1]])
    found = gather(
        tuning, Given(tuning, [0.5, 0.5, 0.1]), steps_of(), None, np.random.default_rng(1)
    )
    assert (len(found), found.counts.groups, found.counts.groups_without) == (0, 2, 2)
    entry = Describer(tuning).describe(found)
    assert entry == {"pairs": 0, "pairs_per_sentence": 0.0, "sentences_without_pairs": 2}


def texts_set(metric: str = "bleu") -> ts.TuningSet:
    rng = np.random.default_rng(5)
    ids, texts, references = [], [], {}
    for g in range(6):
        references[g] = [" ".join(f"w{k}" for k in rng.integers(0, 9, n)) for n in (9, 14)]
        for _ in range(7):
            words = references[g][0].split()[: rng.integers(5, 10)]
            ids.append(g)
            texts.append(" ".join([*words, *(["x"] * int(rng.integers(0, 12)))]))
    features = {"f": rng.normal(size=len(ids)).tolist()}
    return ts.TuningSet(ts.from_arrays(ids, features, texts, references), metric)


@pytest.mark.parametrize("metric", ["bleu", "ter"])
def test_averages_by_hand(metric):
    tuning = texts_set(metric)
    scorer = objective_of("bleu+1").begin(tuning, "pairs")
    lengths = lengths_of(tuning)
    found = gather(
        tuning, scorer, steps_of(accept="random:pairs=4"), lengths, np.random.default_rng(1)
    )
    entry = Describer(tuning).describe(found)
    candidates = tuning.candidates
    pairs = list(zip(found.better.tolist(), found.worse.tolist(), strict=True))
    assert entry["pairs"] == len(pairs)
    assert entry["pairs_per_sentence"] == len(pairs) / 6
    words = [len(candidates.text(row).split()) for row in range(len(candidates))]
    assert entry["positive_length"] == pytest.approx(np.mean([words[i] for i, _ in pairs]))
    assert entry["negative_length"] == pytest.approx(np.mean([words[j] for _, j in pairs]))
    if metric == "bleu":
        # The closest reference counts; the shorter one if both are.
        closest = [min((9, 14), key=lambda n, w=w: (abs(n - w), n)) for w in words]
        both = [closest[k] for pair in pairs for k in pair]
        assert entry["reference_length"] == pytest.approx(np.mean(both))
        own = ts.TuningSet(candidates, "sentence-bleu").stats[:, 0] * 100
    else:
        own = tuning.metric.score(tuning.stats)
    assert entry["positive_score"] == pytest.approx(np.mean([own[i] for i, _ in pairs]))
    assert entry["negative_score"] == pytest.approx(np.mean([own[j] for _, j in pairs]))


def test_scores_in_a_unit_of_their_own_are_shown_in_it():
    tuning = tuning_set([[[0.0], [1.0]]], [[300.0, 700.0]])
    assert sentence_scores(tuning).tolist() == [300.0, 700.0]


def entry_of(neg, ref, pos_score, neg_score) -> dict[str, float]:
    return {
        "negative_length": neg,
        "reference_length": ref,
        "positive_score": pos_score,
        "negative_score": neg_score,
    }


#: Negatives' and references' lengths, scores of positives and negatives: Tables 1, 3 and 4 of
#: the monsters paper, and whether it finds monsters there.
ROWS = {
    "iteration 1": (44.6, 46.5, 52.5, 37.6, False),
    "iteration 3": (261.0, 53.4, 52.4, 2.19, True),
    "iteration 4": (250.0, 53.0, 52.0, 2.30, True),
    "iteration 5": (248.0, 53.0, 52.1, 2.34, True),
    "PRO": (229.0, 52.5, 52.2, 2.8, True),
    "BLEU+1 10": (49.6, 49.4, 49.4, 39.9, False),
    "BLEU+1 20": (55.5, 51.1, 49.8, 32.7, False),
    "length 5": (47.0, 47.9, 52.9, 37.8, False),
    "length 10": (48.5, 48.7, 52.5, 35.6, False),
    "outliers BLEU+1 2": (47.2, 47.7, 52.2, 39.5, False),
    "outliers BLEU+1 3": (168.0, 53.0, 51.7, 3.9, True),
    "outliers length 2": (82.7, 53.1, 52.3, 5.3, True),
    "outliers length 3": (163.0, 51.4, 51.4, 4.2, True),
    "stochastic BLEU+1": (216.0, 53.3, 53.1, 2.4, True),
    "stochastic length": (201.0, 52.9, 53.4, 2.9, True),
    "random": (48.5, 48.7, 47.7, 42.9, False),
}


@pytest.mark.parametrize("row", ROWS)
def test_monsters_of_the_paper(row):
    *figures, expected = ROWS[row]
    assert has_monsters(entry_of(*figures), ts.BLEU()) is expected


def test_monsters_by_other_metrics():
    # Of error rates counts what is right: 70 % against nothing at all.
    assert has_monsters(entry_of(90, 20, 30.0, 400.0), ts.TER())
    assert not has_monsters(entry_of(90, 20, 30.0, 60.0), ts.TER())
    assert not has_monsters(entry_of(20, 20, 30.0, 400.0), ts.TER())
    # Of short sentences a few words are a large part.
    assert not has_monsters(entry_of(8, 4, 50.0, 1.0), ts.BLEU())
    assert has_monsters(entry_of(15, 4, 50.0, 1.0), ts.BLEU())
    # A score in another unit has no zero.
    assert not has_monsters(entry_of(90, 20, 5.0, 0.0), Mean())
    assert not has_monsters(entry_of(90, 20, 5.0, 0.0), Loss())
    assert not has_monsters({"positive_score": 50.0, "negative_score": 0.0}, ts.BLEU())
