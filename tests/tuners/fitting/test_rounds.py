"""What is picked from rounds, and what chooses among objectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests.helpers.builders import candidate_set, tuning_set
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.registry import option
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.rounds import Round, Rounds

#: One feature that is right for the first set and wrong for the second.
VECTORS = [[[0.0], [1.0]], [[0.0], [1.0]]]
GOOD = tuning_set(VECTORS, [[0.0, 1.0], [0.0, 1.0]])
BAD = tuning_set(VECTORS, [[1.0, 0.0], [1.0, 0.0]])


@dataclass(frozen=True, kw_only=True)
class Walk(Rounds):
    """Take the weights of a list, one per round."""

    way: tuple[float, ...] = option((1.0, -1.0, -2.0), "weights after each round")

    name = "walk"
    usual = ("metric", "metric")

    @property
    def round_count(self):
        return 3

    def rounds(self, tuning, objective, start, rng):
        for weight in self.way:
            yield Round(np.array([weight]), {"drawn": float(rng.random())})


def weight(result) -> float:
    (found,) = result.weights.values()
    return found


def test_the_last_round_counts_unless_told_otherwise():
    assert weight(Walk().fit(GOOD, {"f0": -5.0}, normalise="none")) == -2.0


def test_the_best_round_of_all_is_kept():
    assert weight(Walk(pick="best").fit(GOOD, {"f0": -5.0}, normalise="none")) == 1.0


def test_the_start_is_kept_where_every_round_is_worse():
    result = Walk(pick="best").fit(BAD, {"f0": -5.0}, rng=1)
    assert weight(result) == -5.0
    assert weight(Walk(way=(1.0,), pick="best").fit(BAD, {"f0": -5.0})) == -5.0
    assert Walk(pick="best").never_worse
    assert not Walk().never_worse


@pytest.mark.filterwarnings("ignore:.* sentences of the")
def test_a_held_out_set_picks_the_round():
    result = Walk(pick="dev").fit(BAD, {"f0": -5.0}, dev=GOOD, normalise="none")
    assert weight(result) == 1.0
    assert [entry["round"] for entry in result.path] == [0, 1, 2, 3]
    assert [entry["chosen"] for entry in result.path] == [False, True, False, False]
    # One that has ended early stays where it is.
    result = Walk(way=(-1.0, 2.0), pick="dev").fit(BAD, {"f0": -5.0}, dev=GOOD, normalise="none")
    assert [entry["dev_score"] for entry in result.path] == [0.0, 0.0, 1.0, 1.0]
    assert weight(result) == 2.0


def test_the_history_has_every_round_with_its_score():
    result = Walk().fit(GOOD, {"f0": -5.0})
    assert [entry["round"] for entry in result.history] == [0, 1, 2, 3]
    assert [entry["score"] for entry in result.history] == [0.0, 1.0, 0.0, 0.0]


def test_a_held_out_set_is_asked_for():
    with pytest.raises(UsageError, match="several rounds; give dev"):
        Walk(pick="dev").fit(GOOD)
    with pytest.raises(UsageError, match="several objectives; give dev"):
        Walk(objective=("metric", "document")).fit(GOOD)


@pytest.mark.filterwarnings("ignore:the test set is scored with each")
@pytest.mark.filterwarnings("ignore:.* sentences of the")
def test_objectives_are_compared_with_the_same_random_numbers():
    result = Walk(objective=("metric", "document")).fit(GOOD, {"f0": 1.0}, dev=GOOD)
    drawn = [entry["drawn"] for entry in result.history if "drawn" in entry]
    assert len(drawn) == 6
    assert drawn[:3] == drawn[3:]
    assert [entry["objective"] for entry in result.path] == ["metric", "document"]


def test_what_cannot_be():
    with pytest.raises(UnknownNameError, match="did you mean document"):
        Walk(objective=("documents",))
    with pytest.raises(UsageError, match="given twice"):
        Walk(objective=("bleu+1", "bleu+1"))
    with pytest.raises(UnknownNameError, match="pick"):
        Walk(pick="first")
    with pytest.raises(UnknownNameError, match="choose-by"):
        Walk(choose_by="size")
    with pytest.raises(UsageError, match="do not go together"):
        Walk(choose_by="length", pick="dev")
    with pytest.raises(UsageError, match="knows nothing of lengths"):
        Walk(objective=("metric", "document"), choose_by="length").fit(GOOD)
    with pytest.raises(UsageError, match="has one setting; give several"):
        Longer(choose_by="length").fit(tuning_of("a b c d", "e f g x"))


@dataclass(frozen=True, kw_only=True)
class Longer(Rounds):
    """Choose the longer candidate with the second objective alone."""

    name = "longer"

    @property
    def round_count(self):
        return 1

    def rounds(self, tuning, objective, start, rng):
        yield Round(np.array([1.0 if objective.name == "document" else -1.0]))


def tuning_of(*references: str) -> TuningSet:
    texts = ["a b", "a b c d", "e f", "e f g h"]
    return TuningSet(candidate_set(VECTORS, (), texts, [[r] for r in references]))


def test_lengths_choose_where_they_are_asked():
    tuning = tuning_of("a b c d", "e f g x")
    result = Longer(objective=("bleu+1", "document"), choose_by="length").fit(tuning)
    assert weight(result) == 1.0
    assert result.length_ratio == 1.0
    assert "document" in result.reason
    assert "chosen is document" in str(result)
    short = tuning_of("a b", "e f")
    assert weight(Longer(objective=("bleu+1", "document"), choose_by="length").fit(short)) == -1.0


def test_a_far_too_long_output_is_told_of():
    texts = ["a b", "a b c d e f g h"] * 20
    lists = candidate_set([[[0.0], [1.0]]] * 20, (), texts, [["a b c d"]] * 20)
    with pytest.warns(UserWarning, match="the output is 2.0 times as long as the references"):
        Longer(objective="document").fit(TuningSet(lists))
    # Of short output nothing is said, nor of few sentences.
    Longer(objective="bleu+1").fit(TuningSet(lists))
    Longer(objective="document").fit(TuningSet(lists).part(range(5)))
