"""The loop on forests of a decoder: their union, what it is tuned on, and runs taken up again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_set, vector
from tests.helpers.loop.forest_toy import ForestToy
from tests.helpers.loop.runs import bleu, plain
from tests.helpers.loop.toy import NAMES, Toy, sentences
from tests.helpers.tiers import examples
from tunesmith.data import memory
from tunesmith.data.candidates import References
from tunesmith.data.forests import ForestSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DecoderError, Sentence, check_forests
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.forests.hypotheses import ForestHypotheses
from tunesmith.inference.hypotheses import Direction
from tunesmith.io.forests.arrow.store import StoredForests
from tunesmith.loop.forests import ForestsSoFar, Words, decoded_forests, unite
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.pro.pro import PRO

TUNE = Inputs.of(*sentences(12, 1))
DEV = Inputs.of(*sentences(9, 2))
TEST = Inputs.of(*sentences(7, 3))
QUICK = MERT(restarts=1, walks=0)
START = ForestToy().start()


def trees(arrays):
    """Return what the derivations of a forest say and have, in their order."""
    return [(tree.words, vector(arrays, tree, 3).tolist()) for tree in derivations(arrays)]


@settings(max_examples=examples(60))
@given(drawn_forest(), drawn_forest(), drawn_forest())
def test_a_union_has_the_derivations_of_both(one, other, third):
    both = unite(one, other)
    assert trees(both) == trees(one) + trees(other)
    assert trees(unite(both, third)) == trees(one) + trees(other) + trees(third)
    for made, given_ in zip(both, one, strict=True):
        assert made.dtype == given_.dtype
        assert made.flags.c_contiguous


@settings(max_examples=examples(40))
@given(st.lists(drawn_forest(), min_size=1, max_size=4), st.randoms())
def test_words_of_several_calls_get_one_vocabulary(forests, random):
    words = Words()
    made = []
    texts = []
    for arrays in forests:
        vocabulary = ["ba", "bo", "bu", "da"]
        random.shuffle(vocabulary)
        texts.append([[vocabulary[w] for w in t.words] for t in derivations(arrays)])
        made.append(words.renumbered(arrays, vocabulary))
    every = words.all
    assert len(set(every)) == len(every)
    for arrays, wanted in zip(made, texts, strict=True):
        assert [[every[w] for w in t.words] for t in derivations(arrays)] == wanted


def test_what_is_there_already_is_not_added_again():
    decoder = ForestToy(beam=0.1)
    held = ForestsSoFar(TUNE, METRICS.create("bleu"), ForestOptions())
    first = decoded_forests(decoder, START, TUNE.sentences)
    held.add(first, START)
    count = int(first.edges.sum())
    assert (held.new, held.size) == (count, count)
    merged = held.merged
    held.add(decoded_forests(decoder, START, TUNE.sentences), START)
    assert (held.new, held.size) == (0, count)
    assert held.merged is merged
    others = Weights(NAMES, np.array([-1.0, 0.5, -1.0]))
    second = decoded_forests(decoder, others, TUNE.sentences)
    held.add(second, others)
    differ = [s for s in range(first.groups) if texts_of(first, s) != texts_of(second, s)]
    assert len(differ) > 0
    assert held.new == int(second.edges[differ].sum())
    for s in range(first.groups):
        wanted = texts_of(first, s) + (texts_of(second, s) if s in differ else [])
        assert texts_of(held.merged.forests, s) == wanted
    # The references are those of the sentences, over whatever vocabulary.
    found = held.merged.forests
    assert isinstance(found.references, References)
    assert [found.join(text) for text in found.references.texts] == [
        held[0] for held in TUNE.references
    ]


def texts_of(forests, s):
    arrays = forests.with_groups([s]).arrays
    return [forests.join(tree.words) for tree in derivations(arrays)]


def test_the_round_trip_through_chunks_and_disk_changes_nothing(monkeypatch):
    whole = decoded_forests(ForestToy(), START, TUNE.sentences)
    assert isinstance(whole, ForestSet)
    monkeypatch.setattr("tunesmith.decoders.base.BLOCK", 5)
    monkeypatch.setattr(memory, "budget", lambda: 1000.0)
    parts = decoded_forests(ForestToy(), START, TUNE.sentences)
    assert isinstance(parts, StoredForests)
    for s in range(whole.groups):
        assert texts_of(whole, s) == texts_of(parts.in_memory(), s)
    assert parts.ids == whole.ids


@pytest.fixture(scope="module")
def found():
    return Loop(rounds=3).run(
        ForestToy(beam=0.12), QUICK, TUNE, dev=DEV, test=TEST, others=["chrf"]
    )


@pytest.mark.long
def test_scores_are_those_of_the_decoders_output(found):
    for one in found.rounds:
        for key, inputs in {"score": TUNE, "dev_score": DEV, "test_score": TEST}.items():
            assert one[key] == pytest.approx(bleu(one["weights"], inputs, ForestToy()), abs=1e-9)
    assert found.score > found.initial_score + 1
    assert found.oracle_score >= max(one["score"] for one in found.rounds) - 1e-9
    assert "forests:rerank" in found.signature
    assert found.others[0].metric == "chrf"


def test_rounds_add_up(found):
    for before, after in itertools.pairwise(found.rounds):
        # What the tuner promises is at least what it had.
        assert before["list_score"] >= before["score"] - 1e-9
        assert after["candidates"] == before["candidates"] + after["new"]
    assert "hyperedges" not in str(found)  # the table says new, as for lists
    assert "on forests" in str(found)


@pytest.mark.parametrize(
    "tuner",
    [QUICK, BatchMIRA(passes=3), PRO(iterations=2), MinRisk(epochs=2, steps=3)],
    ids=lambda tuner: tuner.name,
)
def test_a_decoder_that_gives_everything_is_one_tuning_on_the_whole(tuner):
    """All forests are there in the first round, so what it learns is what a fixed set teaches."""
    result = Loop(rounds=1, final="last").run(ForestToy(), tuner, TUNE, seed=5)
    whole = TUNE.with_references(ForestToy().forests(START, TUNE.sentences))
    fixed = tuner.after([START]).fit(
        ForestTuning(whole, "bleu"), START, rng=np.random.default_rng([5, 0]), normalise="none"
    )
    assert dict(result.weights) == dict(fixed.weights)
    assert result.score == fixed.score
    assert result.rounds[1]["new"] == 0


def test_it_ends_when_nothing_is_new():
    result = Loop(rounds=30, weight_tolerance=0.0).run(ForestToy(), QUICK, TUNE)
    assert result.stopped == "no new candidates"
    assert len(result.rounds) == 2


def test_it_is_never_worse_than_its_start():
    start = dict(Loop(rounds=2).run(ForestToy(), QUICK, TUNE).weights)
    result = Loop(rounds=2).run(ForestToy(beam=0.0), QUICK, TUNE, start=start)
    assert result.score >= result.initial_score


def test_settings_are_chosen_on_held_out_forests():
    tuner = BatchMIRA(passes=2, c=(0.001, 0.1))
    result = Loop(rounds=2).run(ForestToy(beam=0.12), tuner, TUNE, dev=DEV)
    assert result.score >= result.initial_score


ORDER = ("weights.json", "tune-decoding.json", "tune.arrow", "scores.json", "tuned.json")


@pytest.mark.long
@pytest.mark.parametrize("small", [False, True])
def test_taken_up_again_it_comes_to_the_same(tmp_path, monkeypatch, small):
    """A run that ends at any step, in memory or with forests that stay on disk."""
    if small:
        monkeypatch.setattr(memory, "budget", lambda: 3000.0)
    loop = Loop(rounds=2, weight_tolerance=0.0)
    decoder = ForestToy(beam=0.12)
    wanted = plain(loop.run(decoder, QUICK, TUNE, dev=DEV))
    assert all(one["new"] > 0 for one in wanted["rounds"][:2])
    folder = tmp_path / "run"
    assert plain(loop.run(decoder, QUICK, TUNE, dev=DEV, work_dir=folder)) == wanted
    for number, last in [(1, "tune.arrow")] if small else itertools.product((1, 0), ORDER):
        gone = ORDER[ORDER.index(last) + 1 :]
        for path in sorted(folder.glob("round-*/*.*")):
            own = int(path.parent.name[-2:])
            if own > number or (own == number and path.name in gone):
                path.unlink()
        assert plain(loop.run(decoder, QUICK, TUNE, dev=DEV, work_dir=folder)) == wanted


def test_a_damaged_file_of_forests_is_named(tmp_path):
    loop = Loop(rounds=1)
    loop.run(ForestToy(), QUICK, TUNE, work_dir=tmp_path)
    path = tmp_path / "round-00" / "tune.arrow"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TunesmithError, match=r"tune.arrow: it is damaged \(.*\); remove it"):
        loop.run(ForestToy(), QUICK, TUNE, work_dir=tmp_path)
    path.unlink()
    loop.run(ForestToy(), QUICK, TUNE, work_dir=tmp_path)


def test_another_way_to_tune_is_another_run(tmp_path):
    Loop(rounds=1).run(ForestToy(), QUICK, TUNE, work_dir=tmp_path)
    with pytest.raises(UsageError, match=r"whose tune_on is \"forests\", not null"):
        Loop(rounds=1, tune_on="lists").run(ForestToy(), QUICK, TUNE, work_dir=tmp_path)


@pytest.mark.parametrize(
    ("decoder", "tuner", "loop", "metric", "problem"),
    [
        (Toy(), QUICK, Loop(tune_on="forests"), "bleu", "decoder 'toy' gives no forests"),
        (ForestToy(), LPMERT(), Loop(tune_on="forests"), "sentence-bleu", "lp-mert works on lists"),
        (ForestToy(), QUICK, Loop(tune_on="live"), "bleu", "mert learns from whole sets"),
        (ForestToy(), QUICK, Loop(tune_on="forests"), "column:f0", "no scores 'f0'"),
        (ForestToy(), MIRA(pick="best"), Loop(tune_on="live"), "bleu", "--final chooses"),
        (ForestToy(), MIRA(), Loop(rounds=3), "bleu", "rounds does not go with live tuning"),
        (ForestToy(), MIRA(), Loop(weight_tolerance=1.0), "bleu", "weight-tolerance does not go"),
    ],
)
def test_wrong_combinations(decoder, tuner, loop, metric, problem):
    with pytest.raises(UsageError, match=problem):
        loop.run(decoder, tuner, TUNE, metric=metric)


def test_options_without_forests():
    with pytest.raises(UsageError, match="lists are tuned on"):
        Loop().run(Toy(), QUICK, TUNE, forest_options=ForestOptions())
    with pytest.raises(TunesmithError, match="tune-on"):
        Loop(tune_on="trees")


@pytest.mark.parametrize(
    ("decoder", "tuner", "metric", "wanted"),
    [
        (Toy(), MIRA(), [], "lists"),
        (ForestToy(), QUICK, [], "forests"),
        (ForestToy(), QUICK, ["comet"], "lists"),
        (ForestToy(), LPMERT(), [], "lists"),
        (ForestToy(), MIRA(), [], "live"),
        (ForestToy(), MIRA(pick="dev"), [], "forests"),
        (ForestToy(), MIRA(objective=("document", "bleu+1")), [], "forests"),
        (ForestToy(), MinRisk(), [], "forests"),
        (ForestToy(), MinRisk(method="online"), [], "live"),
        (ForestToy(), PRO(), [], "forests"),
    ],
)
def test_what_is_tuned_on(decoder, tuner, metric, wanted):
    assert Loop().kind(decoder, tuner, metric) == wanted


def test_what_is_checked_of_forests():
    asked = [Sentence(0, "ba"), Sentence(1, "bo")]
    right = ForestToy().forests(START, asked)
    check_forests(right, asked, NAMES)
    with pytest.raises(DecoderError, match="gave no forest for sentence 2"):
        check_forests(right, [*asked, Sentence(2, "bu")], NAMES)
    with pytest.raises(DecoderError, match="forests in another order"):
        check_forests(right, asked[::-1], NAMES)
    with pytest.raises(DecoderError, match="features are not its names"):
        check_forests(right, asked, NAMES[::-1])
    with pytest.raises(DecoderError, match="gave a CandidateSet"):
        check_forests(Toy().decode(START, asked), asked, NAMES)
    values = right.arrays.feature_values.copy()
    values[0] = np.nan
    wrong = right.with_arrays(right.arrays._replace(feature_values=values))
    with pytest.raises(DecoderError, match="not finite"):
        check_forests(wrong, asked, NAMES)


def test_a_decoder_without_forests_says_so():
    for ask in (lambda: Toy().forests(START, []), lambda: Toy().names):
        with pytest.raises(UsageError, match="decoder 'toy' gives no forests"):
            ask()


def test_the_output_alone():
    asked = TUNE.sentences
    best, lists = ForestToy().outputs(START, asked), ForestToy().decode(START, asked)
    assert len(best) == len(asked)
    assert [best.text(k) for k in range(len(best))] == [lists.text(k) for k in lists.start[:-1]]


@settings(max_examples=examples(30))
@given(drawn_forest(whole=True), drawn_forest(whole=True), st.integers(0, 2**32 - 1))
def test_derivations_that_are_there_twice_change_nothing_along_a_line(one, other, seed):
    rng = np.random.default_rng(seed)
    weights, values = rng.integers(-3, 4, (2, 3)).astype(float)
    assume(values.any())
    once = unite(one, other)
    found = []
    for arrays in (once, unite(once, one), unite(once, other)):
        forests = forest_set([arrays], 3, 4, [[[0, 1, 2]]])
        hypotheses = ForestHypotheses(ForestTuning(forests, "bleu"))
        point = hypotheses.point(weights)
        line = hypotheses.envelope(point, Direction.of(values, "some way"))
        order = np.argsort(line.at, kind="stable")
        at, change = line.at[order], line.change[order]
        # What changes nothing is no step of the metric.
        steps = [(x, c) for x, c in zip(at.tolist(), change.tolist(), strict=True) if any(c)]
        found.append((point.total.tolist(), line.total.tolist(), steps))
    assert found[0] == found[1] == found[2]
