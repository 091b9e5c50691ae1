"""The loop: what it merges, what it reports, when it ends and what it chooses."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.loop.runs import DEV, QUICK, TEST, TUNE, plain
from tests.helpers.loop.toy import NAMES, Toy
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import (
    DecoderError,
    ExpectedFeatures,
    Sentence,
    check_decoded,
    count_misranked,
)
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import AccumulatedLists
from tunesmith.loop.loop import Loop
from tunesmith.loop.rounds import average, change
from tunesmith.metrics.base import METRICS
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.pro.pro import PRO


def bleu(weights, inputs):
    """Score a decoder's output by sacrebleu."""
    decoded = Toy().decode(Weights.from_dict(weights), inputs.sentences)
    output = [decoded.text(k) for k in decoded.start[:-1]]
    references = [[held[0] for held in inputs.references]]
    return sacrebleu.corpus_bleu(output, references, tokenize="none", force=True).score


@pytest.fixture(scope="module")
def found():
    return Loop(rounds=4).run(Toy(), QUICK, TUNE, dev=DEV, test=TEST, others=["chrf"])


def test_scores_are_those_of_the_decoders_output(found):
    for one in found.rounds:
        for key, inputs in {"score": TUNE, "dev_score": DEV, "test_score": TEST}.items():
            assert one[key] == pytest.approx(bleu(one["weights"], inputs), abs=1e-9)
    assert found.initial_score == pytest.approx(bleu(Toy().start(), TUNE), abs=1e-9)
    assert found.score == pytest.approx(bleu(found.weights, TUNE), abs=1e-9)
    assert found.dev.score == pytest.approx(bleu(found.weights, DEV), abs=1e-9)
    assert found.test.initial_score == pytest.approx(bleu(Toy().start(), TEST), abs=1e-9)
    assert found.score > found.initial_score + 1


def test_other_metrics_are_reported(found):
    (chrf,) = found.others
    decoded = Toy().decode(found.weights, DEV.sentences)
    output = [decoded.text(k) for k in decoded.start[:-1]]
    references = [[held[0] for held in DEV.references]]
    assert chrf.dev.score == pytest.approx(sacrebleu.corpus_chrf(output, references).score)


def test_a_round_begins_where_the_one_before_ended(found):
    assert found.rounds[0]["weights"] == dict(Toy().start())
    for before, after in zip(found.rounds, found.rounds[1:], strict=False):
        # The tuner promises what is best on the lists, which hold the decoder's own output.
        assert before["list_score"] >= before["score"] - 1e-9
        assert after["candidates"] == before["candidates"] + after["new"]
    assert found.rounds[-1]["list_score"] is None


@pytest.mark.parametrize("final", ["last", "tune", "dev", "average", "auto"])
def test_the_final_weights(final):
    result = Loop(rounds=3, final=final).run(Toy(), QUICK, TUNE, dev=DEV)
    chosen = [one for one in result.rounds if one["chosen"]]
    assert len(chosen) == 1
    assert chosen[0]["weights"] == dict(result.weights)
    rounds = [one for one in result.rounds if one["round"] != "average"]
    if final == "last":
        assert chosen[0] is result.rounds[-1]
    elif final == "average":
        learnt = [np.array([one["weights"][n] for n in NAMES]) for one in rounds[1:]]
        mean = sum(vector / np.abs(vector).sum() for vector in learnt)
        got = np.array([result.weights[n] for n in NAMES])
        np.testing.assert_allclose(got / np.abs(got).sum(), mean / np.abs(mean).sum())
        assert chosen[0]["round"] == "average"
        assert result.score == pytest.approx(bleu(result.weights, TUNE), abs=1e-9)
    else:
        key = "score" if final == "tune" else "dev_score"
        assert chosen[0][key] == max(one[key] for one in rounds)


def test_it_ends_when_nothing_is_new():
    result = Loop(rounds=30, weight_tolerance=0.0).run(Toy(nbest_size=100), QUICK, TUNE)
    assert result.stopped == "no new candidates"
    assert result.rounds[-1]["new"] == 0
    assert all(one["new"] > 0 for one in result.rounds[:-1])
    # All candidates were there in the first round.
    assert len(result.rounds) == 2


@pytest.mark.long
def test_tuners_that_take_steps_go_on_without_new_candidates():
    """All candidates are there from the first round on, and the weights are far from the best."""
    toy = Toy(nbest_size=100)
    result = Loop(rounds=30).run(toy, PRO(), TUNE)
    assert [one["new"] for one in result.rounds[1:]] == [0] * (len(result.rounds) - 1)
    assert len(result.rounds) > 5
    assert result.score > Loop(rounds=1).run(toy, PRO(), TUNE).score + 1


def test_it_ends_when_weights_or_scores_stay():
    by_weights = Loop(rounds=30, weight_tolerance=2.0).run(Toy(), QUICK, TUNE)
    assert by_weights.stopped.startswith("the weights changed")
    by_score = Loop(rounds=30, weight_tolerance=0.0, score_tolerance=100.0).run(Toy(), QUICK, TUNE)
    assert by_score.stopped.startswith("the score changed")
    limited = Loop(rounds=1).run(Toy(), QUICK, TUNE)
    assert limited.stopped == "the limit of rounds"
    assert len(limited.rounds) == 2


def features_of(candidates):
    """Return the values of f0 and of f1, wherever they are kept."""
    features = candidates.features
    return [
        features.dot(np.array([n == name for n in features.names], float)) for name in NAMES[:2]
    ]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(0, 10**6))
def test_lists_are_merged_without_duplicates(sizes, seed):
    """Against a dictionary, with statistics that are counted anew."""
    rng = np.random.default_rng(seed)
    inputs = Inputs.of(["a", "b"], ["x y", "y"])
    lists = AccumulatedLists(inputs, METRICS.create("bleu"))
    seen = [{}, {}]
    for size in sizes:
        vectors = rng.integers(0, 2, (2, size, 2)).astype(float)
        texts = [" ".join(rng.choice(["x", "y"], 2)) for _ in range(2 * size)]
        decoded = candidate_set(vectors.tolist(), texts=texts)
        before = sum(map(len, seen))
        for k, (vector, text) in enumerate(zip(vectors.reshape(-1, 2), texts, strict=True)):
            seen[k // size].setdefault((text, tuple(vector)))
        lists.add(decoded)
        assert lists.new == sum(map(len, seen)) - before
        merged = lists.merged.candidates
        for g in range(2):
            rows = range(merged.start[g], merged.start[g + 1])
            values = [tuple(v[k] for v in features_of(merged)) for k in rows]
            assert [(merged.text(k), v) for k, v in zip(rows, values, strict=True)] == list(seen[g])
        assert (lists.merged.stats == TuningSet(merged, "bleu").stats).all()
        assert lists.merged.signature() == TuningSet(merged, "bleu").signature()
        assert [lists.output.candidates.text(g) for g in range(2)] == [texts[0], texts[size]]


def test_a_work_directory_changes_nothing(tmp_path):
    loop = Loop(rounds=3)
    there = loop.run(Toy(), QUICK, TUNE, dev=DEV, work_dir=tmp_path / "run")
    assert plain(there) == plain(loop.run(Toy(), QUICK, TUNE, dev=DEV))


def test_seeds_count():
    tuner = PRO(sample="uniform:pairs=20", accept="random:pairs=5")
    loop, toy = Loop(rounds=2, final="last"), Toy(nbest_size=30)
    one, two, three = (loop.run(toy, tuner, TUNE, seed=seed).weights for seed in (1, 1, 2))
    assert one == two != three


def test_a_held_out_set_chooses_among_settings():
    tuner = MERT(restarts=0, walks=0, penalty="l2-normalized", strength=(1e-6, 10.0))
    with pytest.raises(UsageError, match="held-out set chooses"):
        Loop(rounds=1).run(Toy(), tuner, TUNE)
    assert Loop(rounds=1).run(Toy(), tuner, TUNE, dev=DEV).dev is not None


def test_earlier_rounds_are_told_to_the_tuner():
    heard = []

    class Listening(MERT):
        name = "listening"

        def after(self, rounds):
            heard.append(list(rounds))
            return super().after(rounds)

    result = Loop(rounds=3, weight_tolerance=0.0).run(Toy(), Listening(restarts=0, walks=0), TUNE)
    every = [one["weights"] for one in result.rounds]
    assert [[dict(w) for w in rounds] for rounds in heard] == [
        every[: k + 1] for k in range(len(every) - 1)
    ]


def test_a_warning_is_given_once():
    start = {"f0": 0.1, "f1": 1.0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = Loop(rounds=3, weight_tolerance=0.0).run(Toy(), QUICK, TUNE, start=start)
    assert len(result.rounds) > 2
    texts = [str(one.message) for one in caught]
    assert len(texts) == len(set(texts)) == 1
    assert "f2" in texts[0]
    assert result.warnings == texts


def test_a_decoder_without_weights_wants_a_start():
    class Bare(Toy):
        def start(self):
            return None

    with pytest.raises(UsageError, match="no weights of its own"):
        Loop().run(Bare(), QUICK, TUNE)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"final": "worst"}, "unknown final"),
        ({"weight_tolerance": -1.0}, "weight-tolerance is -1"),
        ({"score_tolerance": float("nan")}, "score-tolerance is nan"),
    ],
)
def test_wrong_options(options, text):
    with pytest.raises(TunesmithError, match=text):
        Loop(**options)


def test_final_dev_wants_a_held_out_set():
    with pytest.raises(UsageError, match="needs a held-out set"):
        Loop(final="dev").run(Toy(), QUICK, TUNE)


class TestWhatADecoderGives:
    wanted = (Sentence(0, "ba"), Sentence(1, "bo"))

    def decoded(self):
        return Toy().decode(Toy().start(), self.wanted)

    def test_is_right(self):
        check_decoded(self.decoded(), self.wanted)

    def test_lacks_a_sentence(self):
        with pytest.raises(DecoderError, match="no candidate for sentence 1;"):
            check_decoded(self.decoded().with_groups([0]), self.wanted)

    def test_has_a_sentence_too_many(self):
        with pytest.raises(DecoderError, match="a sentence 1 that is none"):
            check_decoded(self.decoded(), self.wanted[:1])

    def test_is_in_another_order(self):
        with pytest.raises(DecoderError, match="in another order"):
            check_decoded(self.decoded().with_groups([1, 0]), self.wanted)

    def test_is_not_finite(self):
        decoded = self.decoded()
        decoded.features.dense[0, 0] = np.nan
        with pytest.raises(DecoderError, match="not finite"):
            check_decoded(decoded, self.wanted)

    def test_has_a_score_that_is_none(self):
        decoded = self.decoded()
        columns = {"comet": np.full(len(decoded), np.nan)}
        with pytest.raises(DecoderError, match="a score 'comet' that is not finite"):
            check_decoded(dataclasses.replace(decoded, columns=columns), self.wanted)

    def test_is_nothing_at_all(self):
        with pytest.raises(DecoderError, match="gave a NoneType; have it return"):
            check_decoded(None, self.wanted)

    def few(self, names=("f0", "f1", "f2"), groups=7):
        """Features of which the first fires in all sentences but a blank one, the second in one."""
        vectors = [[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]] for _ in range(groups)]
        vectors[0][1][1] = 1.0
        vectors[-1] = [[0.0, 0.0, 0.0]]
        made = candidate_set(vectors)
        return dataclasses.replace(
            made, features=dataclasses.replace(made.features, dense_names=names)
        )

    @pytest.mark.parametrize(("groups", "start"), [(7, {"f0": 1.0}), (21, {"x": 1.0})])
    def test_loses_a_feature(self, groups, start):
        """One that has a weight from the start, or fires in many sentences."""
        expected = ExpectedFeatures.of(self.few(groups=groups), Weights.from_dict(start))
        assert expected.certain == ("f0",)
        assert not expected.likely
        expected.check(self.few(("f0", "f2", "new")))
        with pytest.raises(DecoderError, match="no longer gives the feature 'f0' and has 'new'"):
            expected.check(self.few(("f1", "f2", "new")))

    def test_loses_a_feature_that_may_be_sparse(self):
        expected = ExpectedFeatures.of(self.few(groups=20), Weights.from_dict({"f1": 1.0}))
        assert not expected.certain
        with pytest.warns(UserWarning, match="no longer gives the feature 'f0' and has 'new'"):
            expected.check(self.few(("f1", "f2", "new")))

    def test_loses_all_features(self):
        expected = ExpectedFeatures.of(self.few(groups=3), Weights.from_dict({"x": 1.0}))
        with pytest.raises(DecoderError, match="no longer gives the feature 'f0' and has 'a'"):
            expected.check(self.few(("a", "b", "c")))

    def test_has_none(self):
        decoded = self.decoded()
        bare = decoded.chosen(decoded.start[:-1])
        with pytest.raises(DecoderError, match="no features"):
            check_decoded(bare, self.wanted)


def test_a_decoder_is_heard_when_what_it_returns_is_wrong():
    class Talking(Toy):
        accept = 0

        def decode(self, weights, sentences):
            found = super().decode(weights, sentences)
            return found if weights == self.start() else found.with_groups([0])

        def last_output(self):
            return "its last words: good bye"

        def accepted(self):
            Talking.accept += 1

    with pytest.raises(DecoderError, match=r"round-01, tune: .* sentence 1 .*last words: good bye"):
        Loop().run(Talking(), QUICK, TUNE)
    assert Talking.accept == 1


def test_the_step_of_a_failure_is_told():
    class Failing(Toy):
        def decode(self, weights, sentences):
            if len(sentences) == len(DEV.sentences):
                raise DecoderError("it fell over; pick it up")
            return super().decode(weights, sentences)

    with pytest.raises(DecoderError, match="round-00, dev: it fell over"):
        Loop().run(Failing(), QUICK, TUNE, dev=DEV)


def test_weights_are_compared_by_their_directions():
    one = Weights(("a", "b"), np.array([1.0, -1.0]))
    assert change(one, Weights(("a", "b"), np.array([2.0, -2.0]))) == 0.0
    assert change(one, Weights(("a", "c"), np.array([1.0, 1.0]))) == 0.5
    mean = average([one, Weights(("a", "b"), np.array([0.0, 4.0]))])
    np.testing.assert_allclose(mean.vector, 4.0 * np.array([0.25, 0.25]))


class TestInputs:
    def test_files(self, tmp_path):
        (tmp_path / "src").write_text("eins zwei\n\n drei \r\n")
        (tmp_path / "a").write_text("one two\nx\nthree\n")
        (tmp_path / "b").write_text("one\ny\nthree")
        inputs = Inputs.read(tmp_path / "src", [tmp_path / "a", tmp_path / "b"])
        assert [s.text for s in inputs.sentences] == ["eins zwei", "", " drei "]
        assert inputs.references == (("one two", "one"), ("x", "y"), ("three", "three"))
        assert [file.format for file in inputs.files] == ["text"] * 3

    def test_lines_that_do_not_match(self, tmp_path):
        (tmp_path / "src").write_text("eins\nzwei\n")
        (tmp_path / "a").write_text("one\n")
        with pytest.raises(TunesmithError, match=r"it has 1 lines and .*src has 2"):
            Inputs.read(tmp_path / "src", tmp_path / "a")

    def test_sentences_that_a_decoder_knows(self, tmp_path):
        (tmp_path / "a").write_text("one\ntwo\nthree\n")
        known = [Sentence(0, ""), Sentence(2, "")]
        inputs = Inputs.read(None, tmp_path / "a", known)
        assert inputs.references == (("one",), ("three",))
        with pytest.raises(TunesmithError, match="no line for the sentence 3"):
            Inputs.read(None, tmp_path / "a", [Sentence(3, "")])

    def test_line_ends(self):
        with pytest.raises(TunesmithError, match="line end"):
            Inputs.of(["a\nb"])
        assert Inputs.of(["a\rb\x0bc\u2028d"]).sentences[0].text == "a\rb\x0bc\u2028d"

    def test_wrong_numbers(self):
        for texts, references, problem in [
            ([], [], "no sentence"),
            (["a"], ["x", "y"], "1 sentences and 2"),
            (["a", "b"], [["x"], []], "has no reference"),
        ]:
            with pytest.raises(TunesmithError, match=problem):
                Inputs.of(texts, references)

    @pytest.mark.parametrize(
        ("ids", "problem"), [((0, 1, 0), "two sentences are called 0"), ((0, "a"), "one kind")]
    )
    def test_ids(self, ids, problem):
        with pytest.raises(TunesmithError, match=problem):
            Inputs(tuple(Sentence(i, "ba") for i in ids))

    def test_references_are_in_the_vocabulary(self):
        inputs = Inputs.of(["ba", "bo"], [["new word", "ba"], ["bo"]])
        decoded = inputs.with_references(Toy().decode(Toy().start(), inputs.sentences))
        assert decoded.reference_texts(0) == ["new word", "ba"]
        assert decoded.reference_texts(1) == ["bo"]
        assert dataclasses.replace(decoded).sources == ("ba", "bo")


def test_a_decoder_that_does_not_read_its_weights_is_told():
    class Deaf(Toy):
        def decode(self, weights, sentences):
            return super().decode(self.start(), sentences)

    with pytest.warns(UserWarning, match="the decoder's first candidate is not the best under"):
        result = Loop(rounds=2, weight_tolerance=0.0).run(Deaf(), QUICK, TUNE)
    assert any("does it read them" in text for text in result.warnings)


def test_obedience_is_judged_where_candidates_differ():
    decoded = candidate_set([[[1.0], [2.0]], [[2.0], [1.0]], [[1.0], [1.0]], [[3.0]]])
    assert count_misranked(decoded, Weights.from_dict({"f0": 1.0})) == (1, 2)
    assert count_misranked(decoded, Weights.from_dict({"f0": -1.0})) == (1, 2)
    assert count_misranked(decoded, Weights.from_dict({"f0": 0.0})) == (0, 0)


@pytest.mark.parametrize(
    ("position", "given"), [(0, "toy"), (1, "mert"), (2, ["ba"]), ("dev", ["ba"])]
)
def test_things_of_another_kind(position, given):
    things = [Toy(), QUICK, TUNE]
    more = {}
    if isinstance(position, str):
        more[position] = given
    else:
        things[position] = given
    with pytest.raises(UsageError, match="give an object of"):
        Loop().run(*things, **more)
    with pytest.raises(TunesmithError, match="give a list"):
        Inputs.of("ba")


def test_sets_that_overlap_are_told_once():
    with pytest.warns(UserWarning, match="all 12 sentences of the held-out set") as said:
        result = Loop(rounds=2).run(Toy(), QUICK, TUNE, dev=TUNE, test=TEST)
    assert len(said) == 1
    assert result.warnings == [str(said[0].message)]


def test_scores_that_look_like_a_models_are_told():
    class Scored(Toy):
        def decode(self, weights, sentences):
            made = super().decode(weights, sentences)
            values = np.array([[1.0 / (3 + k) ** 0.5 for k in range(len(made))]])
            dense = np.vstack([made.features.dense, values])
            names = (*made.features.dense_names, "judge")
            features = dataclasses.replace(made.features, dense=dense, dense_names=names)
            return dataclasses.replace(made, features=features)

    def run(**options):
        return Loop(rounds=1).run(Scored(), QUICK, TUNE, metric="column:judge", **options)

    with pytest.warns(UserWarning, match="'judge' looks like a model's scores"):
        assert "metric bias" in run(dev=DEV).warnings[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()
        run(dev=DEV, others=["bleu"])
