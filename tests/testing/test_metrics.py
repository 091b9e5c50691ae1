"""The suite for metrics: all of ours pass, deliberately broken ones are caught."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass

import numpy as np
import pytest

from tests.helpers.conformance import caught, failing
from tunesmith.metrics.base import METRICS, Metric, ratio_slope
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.local import thread_count
from tunesmith.registry import option
from tunesmith.testing import ConformanceError, NotApplicable, check_metric, metric_checks
from tunesmith.testing.metrics import RULES

WITH_OPTIONS = (
    *("bleu:smoothing=add-k,order=2", "bleu:lowercase=true,reference-length=average"),
    *("sentence-bleu:smoothing=lin-och,grounded=true", "sentence-bleu:unclipped=true"),
    *("ter:case-sensitive=true", "chrf:word-order=2,beta=1", "wer:lowercase=true"),
    *("sum(0.7*bleu,0.3*column:comet)", "harmonic(bleu,chrf)", "min(ter,column:a)"),
    "sum(sentence-bleu,cost:errors)",
)


BUILT_IN = [check for name in METRICS.names() for check in metric_checks(METRICS.get(name))]


@pytest.mark.parametrize("check", BUILT_IN)
def test_built_in_metrics_conform(check):
    check()


@pytest.mark.parametrize("spec", WITH_OPTIONS)
def test_built_in_metrics_with_options_conform(spec):
    check_metric(METRICS.create(spec))


@dataclass(frozen=True)
class Words(Metric):
    """The share of words that are in a reference."""

    name = "words"
    lowercase: bool = option(False, "ignore case")

    @property
    def stat_names(self):
        return ("right", "all")

    def stats(self, hypothesis, references):
        texts = [t.lower() if self.lowercase else t for t in (hypothesis, *references)]
        known = set(" ".join(texts[1:]).split())
        words = texts[0].split()
        return np.array([sum(word in known for word in words), len(words)])

    def score(self, stats):
        return 100.0 * stats[..., 0] / np.maximum(stats[..., 1], 1)

    def signature(self):
        return f"words|lowercase:{self.lowercase}"


class Share(Words):
    """Words, with a slope."""

    def slope(self, stats):
        return ratio_slope(stats, 0, 1)


def test_a_metric_with_a_slope_conforms_and_one_without_is_skipped():
    assert failing(metric_checks(Share)) == {}
    checks = {check.name: check for check in metric_checks(Words)}
    for name in ("slope_is_the_derivative", "slope_is_finite"):
        with pytest.raises(NotApplicable, match="it has no slope"):
            checks[name]()


def test_the_metric_that_the_broken_ones_derive_from_conforms():
    assert failing(metric_checks(Words)) == {}
    assert failing(metric_checks(Words(lowercase=True))) == {}


@dataclass(frozen=True)
class Length(Metric):
    """The mean number of words, of which fewer are better; no references."""

    name = "length"
    higher_is_better = False
    needs_references = False
    is_sum = True
    scale = 1.0
    stat_names = ("words", "all")

    def stats(self, hypothesis, references):
        return np.array([len(hypothesis.split()), 1.0])

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def signature(self):
        return "length"


def test_a_metric_without_references_conforms_and_rules_about_them_are_skipped():
    checks = {check.name: check for check in metric_checks(Length)}
    assert failing(list(checks.values())) == {}
    for name in ("copies_beat_garbage", "scale_is_natural", "any_number_of_references"):
        with pytest.raises(NotApplicable, match="compares with no references"):
            checks[name]()


class WrongSign(Words):
    higher_is_better = False


class DoesNotAdd(Words):
    """Averages of sentences as statistics, without their number."""

    @property
    def stat_names(self):
        return ("share",)

    def stats(self, hypothesis, references):
        right, words = super().stats(hypothesis, references)
        return np.array([right / max(words, 1)])

    def score(self, stats):
        return 100.0 * stats[..., 0]


class ChangesStatistics(Words):
    def score(self, stats):
        stats[..., 0] *= 100
        return stats[..., 0] / np.maximum(stats[..., 1], 1)


class ChangesCandidates(Words):
    def candidate_stats(self, candidates):
        candidates.features.dense[:] *= 2.0
        return super().candidate_stats(candidates)


class ChangesReferences(Words):
    def stats(self, hypothesis, references):
        if isinstance(references, list):
            references.sort()
        return super().stats(hypothesis, references)


class DrawsGlobally(Words):
    """A random half of the words, for speed."""

    def stats(self, hypothesis, references):
        return super().stats(
            " ".join(w for w in hypothesis.split() if random.random() < 0.5), references
        )


class DrawsAnew(Words):
    """The same with a generator that nobody can seed."""

    def stats(self, hypothesis, references):
        rng = np.random.default_rng()
        return super().stats(
            " ".join(w for w in hypothesis.split() if rng.random() < 0.5), references
        )


class IsNoSum(Words):
    is_sum = True


class TakesOneRow(Words):
    def score(self, stats):
        return 100.0 * stats[0] / np.maximum(stats[1], 1)


class HasAnotherWidth(Words):
    @property
    def stat_names(self):
        return ("right", "all", "length")


class HasUnsignedStatistics(Words):
    def stats(self, hypothesis, references):
        return super().stats(hypothesis, references).astype(np.uint8)


class IgnoresItsOption(Words):
    def signature(self):
        return "words"


class IsInPerCent(Words):
    scale = 1.0


class IsAShare(Words):
    def score(self, stats):
        return super().score(stats) / 100.0


class DividesByZero(Words):
    def score(self, stats):
        with np.errstate(invalid="ignore"):
            return 100.0 * stats[..., 0] / stats[..., 1]


class SeesOneReference(Words):
    """The quick way forgets all references but the first."""

    def candidate_stats(self, candidates):
        self.check(candidates)
        rows = []
        for g in range(candidates.groups):
            references = candidates.reference_texts(g)[:1]
            span = range(candidates.start[g], candidates.start[g + 1])
            rows += [self.stats(candidates.text(i), references) for i in span]
        return np.array(rows)


class LooksAtTheOthers(Words):
    """Counts relative to the greatest of the set."""

    def candidate_stats(self, candidates):
        stats = super().candidate_stats(candidates).astype(float)
        return stats / stats.max(axis=0)


class ForgetsToCheck(Words):
    def candidate_stats(self, candidates):
        return (
            np.ones((len(candidates), 2))
            if candidates.references is None
            else super().candidate_stats(candidates)
        )


class CountsThreads(Words):
    def candidate_stats(self, candidates):
        return super().candidate_stats(candidates) + max(thread_count() - 1, 0)


class TakesOneReference(Words):
    def stats(self, hypothesis, references):
        (reference,) = references
        return super().stats(hypothesis, [reference])


class Unequal(Words):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True)
class Undocumented(Words):
    """Words, and a number that nobody explains."""

    order: int = 4

    def signature(self):
        return f"{super().signature()}|order:{self.order}"


class BadlyNamed(Words):
    name = "my words:2"


class TakesAnothersName(Words):
    name = "bleu"


class SlopeOfTheScore(Share):
    def slope(self, stats):
        return 100.0 * super().slope(stats)


class SlopeOfTheWrongSign(Share):
    higher_is_better = False


class SlopeOfOneStatistic(Share):
    def slope(self, stats):
        slope = super().slope(stats)
        slope[..., 1] = 0.0
        return slope


class SlopeIsOneNumber(Share):
    def slope(self, stats):
        return super().slope(stats).sum(axis=-1)


class SlopeOfTheFirstRow(Share):
    def slope(self, stats):
        first = super().slope(stats.reshape(-1, 2)[0])
        return np.broadcast_to(first, stats.shape)


class SlopeIsNotFinite(Share):
    def slope(self, stats):
        right, words = stats[..., 0], stats[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([1 / words, -right / words**2], axis=-1)


class SlopeChangesStatistics(Share):
    def slope(self, stats):
        slope = super().slope(stats)
        stats[..., 0] += 1
        return slope


DEPENDENT = {"texts_and_candidates_agree", "candidates_do_not_matter_to_each_other"}
RANDOM = {"threads_change_nothing", *DEPENDENT}
BROKEN = [
    (WrongSign, "copies_beat_garbage", set(), "higher_is_better"),
    (DoesNotAdd, "statistics_add_up", set(), "twice as many sentences"),
    (ChangesStatistics, "input_is_left_alone", set(), "score changes its argument"),
    (ChangesCandidates, "input_is_left_alone", set(), "dense features"),
    (ChangesReferences, "input_is_left_alone", set(), "stats changes the references"),
    (DrawsGlobally, "randomness_is_not_global", RANDOM - {"texts_and_candidates_agree"}, "global"),
    (DrawsAnew, "randomness_is_not_global", RANDOM, "two runs"),
    (IsNoSum, "sum_is_a_sum", set(), "set is_sum = False"),
    (TakesOneRow, "score_takes_any_shape", set(), "stats[..., k]"),
    (HasAnotherWidth, "statistics_have_their_width", {"any_number_of_references"}, "stat_names"),
    (HasUnsignedStatistics, "statistics_have_their_width", {"any_number_of_references"}, "uint8"),
    (IgnoresItsOption, "signature_tells_options", set(), "put lowercase into it"),
    (IsInPerCent, "scale_is_natural", set(), "scale = 100"),
    (IsAShare, "scale_is_natural", set(), "scale = 1 "),
    (DividesByZero, "score_is_finite", set(), "where a sum is 0"),
    (SeesOneReference, "texts_and_candidates_agree", set(), "make both count the same"),
    (LooksAtTheOthers, "texts_and_candidates_agree", DEPENDENT, "make both count the same"),
    (ForgetsToCheck, "missing_input_is_an_error", set(), "self.check(candidates)"),
    (CountsThreads, "threads_change_nothing", set(), "one thread and two"),
    (Unequal, "equal_options_are_equal", set(), "@dataclass(frozen=True)"),
    (Undocumented, "options_are_documented", set(), "no help text"),
    (BadlyNamed, "has_a_name", set(), "letters, digits and hyphens"),
    (TakesAnothersName, "has_a_name", set(), "choose another name"),
    (SlopeOfTheScore, "slope_is_the_derivative", set(), "score / scale"),
    (SlopeOfTheWrongSign, "copies_beat_garbage", {"slope_is_the_derivative"}, "higher_is_better"),
    (SlopeOfOneStatistic, "slope_is_the_derivative", set(), "the slope by 'all' is 0 where"),
    (SlopeIsOneNumber, "slope_is_the_derivative", set(), "has the shape (2, 3)"),
    (SlopeOfTheFirstRow, "slope_is_the_derivative", set(), "rows are independent of each other"),
    (SlopeIsNotFinite, "slope_is_finite", set(), "where a sum is 0"),
    (SlopeChangesStatistics, "input_is_left_alone", set(), "slope changes its argument"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "first", "others", "said"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_broken_metrics_are_caught(metric, first, others, said):
    caught(metric_checks(metric), first, others, said)


def test_errors_of_a_plugin_say_where_and_what_is_wanted():
    messages = failing(metric_checks(TakesOneReference))
    assert next(iter(messages)) == "statistics_have_their_width"
    text = messages["any_number_of_references"]
    assert "ValueError: too many values to unpack" in text
    assert "test_metrics.py:" in text
    assert "it should take one reference or several" in text


def test_a_class_is_taken_with_its_defaults_and_an_object_with_its_options():
    assert failing(metric_checks(BLEU)) == failing(metric_checks(BLEU(order=1))) == {}


def test_a_metric_of_a_corpus_that_claims_to_be_a_sum_is_caught():
    lying = type("Lying", (BLEU,), {"is_sum": True, "name": "lying", "__doc__": "BLEU."})
    assert set(failing(metric_checks(lying))) == {"sum_is_a_sum"}


def test_checks_are_named_and_skipped_ones_say_why():
    checks = metric_checks(METRICS.create("column:a"))
    assert [check.name for check in checks] == [rule.__name__ for rule in RULES]
    assert checks[0].__name__ == "column:a-has_a_name"  # what pytest shows
    skipped = next(check for check in checks if check.name == "texts_and_candidates_agree")
    with pytest.raises(NotApplicable, match="it needs the columns a"):
        skipped()
    assert repr(skipped) == "<check texts_and_candidates_agree of column:a>"


def test_the_global_random_state_is_as_it_was():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    for metric in (Words, DrawsGlobally):
        failing(metric_checks(metric))
    assert random.random() == expected


def test_a_conformance_error_is_an_assertion_error():
    with pytest.raises(AssertionError, match="wrong-sign fails copies_beat_garbage"):
        check_metric(type("Named", (WrongSign,), {"name": "wrong-sign", "__doc__": "Words."}))
    assert issubclass(ConformanceError, AssertionError)
    assert dataclasses.is_dataclass(Words)
