"""Loops whose decoding and learning is done by others: the result is the same, bit for bit."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from tests.helpers.hiero.model_files import WEIGHTS, decoder_of, written
from tests.helpers.loop.forest_toy import Counting, ForestToy
from tests.helpers.loop.toy import sentences
from tests.helpers.parallel.copying import CopyEngine, copied
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.loop.forests import DecodedSentences, Words, decoded_forests
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads
from tunesmith.parallel.remote.processes import ProcessEngine
from tunesmith.progress import tell_with
from tunesmith.tasks.live import LiveTuning
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA

pytestmark = pytest.mark.long

TUNE, DEV = Inputs.of(*sentences(11, 1)), Inputs.of(*sentences(6, 2))
ENGLISH = [
    "the house is small",
    "a little is the new house",
    "home",
    "is that small",
    "the b house",
]
GERMAN = ["das haus ist klein", "klein ist das neue haus", "haus", "ist das klein", "das <b> haus"]


class Portable(ForestToy):
    """Can be copied."""

    is_portable = True


@pytest.fixture(scope="module")
def processes():
    with ProcessEngine(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    rules = "[X] ||| neue ||| new ||| Own=1\n[X] ||| neue ||| newer ||| Own=-1\n"
    (folder / "own").write_text(rules)
    return written(folder)


def essence(result):
    """Return what must be equal."""
    found = json.loads(json.dumps(result.to_dict()))
    for name in ("seconds", "engine", "workers", "threads"):
        del found[name]
    for one in found["rounds"]:
        for name in [name for name in one if name.endswith("_seconds")]:
            del one[name]
    for one in found["history"]:
        for name in [name for name in one if name.endswith("seconds")]:
            del one[name]
    return found


def hiero_run(files, tuner, work_dir=None):
    """Tune live; a sentence has rules of its own."""
    own = f'<seg id="9" grammar="{files["grammar"].parent / "own"}">das neue haus</seg>'
    tune = Inputs.of([*GERMAN, own] * 2, [*ENGLISH, "the new house"] * 2)
    start = {**WEIGHTS, "Own": 0.0}
    decoder = decoder_of(files, pop_limit=10)
    return Loop(final="last").run(
        decoder, tuner, tune, dev=Inputs.of(GERMAN[:2], ENGLISH[:2]), start=start, work_dir=work_dir
    )


@pytest.mark.filterwarnings("ignore:.* sentences of the")
@pytest.mark.parametrize(
    "tuner",
    [MIRA(epochs=2, rate=0.5, learners=3), AROW(epochs=2, learners=2, parallel="async")],
    ids=["mixing", "async"],
)
def test_learners_that_decode_live(files, processes, tuner):
    told = []
    tell_with(lambda line, is_detail: told.append(line))
    try:
        with threads(2):
            wanted = hiero_run(files, tuner)
            with working_on(processes):
                found = hiero_run(files, tuner)
            assert not [line for line in told if "--engine processes" in line]
            Loop().run(Portable(), tuner, Inputs.of(*sentences(4, 1)))
        # Threads cannot share that one.
        assert len([line for line in told if "--engine processes" in line]) == 1
    finally:
        tell_with(None)
    assert essence(found) == essence(wanted)
    assert (found.engine, found.workers) == ("processes", 2)
    assert wanted.workers == 0
    assert wanted.weights["Own"] != 0.0


@pytest.mark.filterwarnings("ignore:.* sentences of the")
@pytest.mark.parametrize(
    "options", [{}, {"learners": 3}, {"learners": 3, "parallel": "async"}], ids=str
)
def test_threads_share_the_decoder_and_change_nothing(files, options):
    """Its cache of parses, and the features that sentences' own grammars add."""
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(hiero_run(files, MIRA(epochs=2, rate=0.5, **options)))
    assert essence(found[0]) == essence(found[1])
    assert found[0].weights["Own"] != 0.0


def test_learners_have_the_model_that_others_decode_with(files):
    """It is sent by itself, once, even before the rules of single sentences are known."""
    decoder = decoder_of(files, pop_limit=10)
    before = copied(decoder.parted()[1])
    own = f'<seg grammar="{files["grammar"].parent / "own"}">das neue haus</seg>'
    tune = Inputs.of([*GERMAN, own], [*ENGLISH, "the new house"])
    decoder.meet(tune.sentences)
    tuning = LiveTuning(DecodedSentences(decoder, tune), Weights.from_dict(WEIGHTS))
    zeros = np.zeros(len(tuning.names))
    learning = MIRA(learners=2).start_training(tuning, zeros, np.random.default_rng(1))
    setup, large = learning.setup.data()
    assert large is decoder._parts
    sent = pickle.dumps(setup)
    assert b"Parts" not in sent
    for held in (before, copied(large)):
        copy = pickle.loads(sent).with_large(held).tuning
        assert copy.names == tuning.names
        assert "Own" in copy.names
        weights = np.arange(1.0, 1.0 + len(zeros))
        one, other = (some.forests(weights, [5]).forests.in_memory() for some in (copy, tuning))
        assert (one.names, one.vocabulary) == (other.names, other.vocabulary)
        for left, right in zip(one.arrays, other.arrays, strict=True):
            assert left.tobytes() == right.tobytes()


@pytest.mark.filterwarnings("ignore:.* sentences of the")
def test_a_live_run_goes_on_with_another_engine(files, processes, tmp_path):
    def run(epochs):
        tuner = MIRA(epochs=epochs, rate=0.5, learners=2)
        return hiero_run(files, tuner, tmp_path / "work")

    with working_on(processes):
        run(1)
    run(2)
    with working_on(processes):
        found = run(3)
    wanted = hiero_run(files, MIRA(epochs=3, rate=0.5, learners=2))
    assert essence(found) == essence(wanted)


def loop_run(work_dir=None, rounds=3):
    loop = Loop(rounds=rounds, tune_on="forests", weight_tolerance=0.0)
    return loop.run(Portable(beam=0.12), MERT(restarts=1), TUNE, dev=DEV, work_dir=work_dir)


def test_rounds_by_copies_of_a_decoder(tmp_path):
    """Of any number, and others when the run is taken up again; files are the same too."""
    wanted = loop_run(tmp_path / "here")
    for rounds, workers in ((1, 2), (2, 7)):
        with working_on(CopyEngine(workers)):
            loop_run(tmp_path / "there", rounds)
    found = loop_run(tmp_path / "there")
    assert essence(found) == essence(wanted)
    forests = [path.relative_to(tmp_path / "here") for path in (tmp_path / "here").rglob("*.arrow")]
    assert len(forests) >= 4
    for path in forests:
        assert (tmp_path / "there" / path).read_bytes() == (tmp_path / "here" / path).read_bytes()


def test_a_decoder_that_does_not_say_that_it_can_be_copied_stays_here():
    engine, decoder = CopyEngine(), Counting()
    with working_on(engine):
        found = decoded_forests(decoder, decoder.start(), TUNE.sentences)
    assert found.groups == len(TUNE.sentences)
    assert [ids for _, ids in decoder.asked] == [[one.id for one in TUNE.sentences]]
    assert engine.sent == []
    with pytest.raises(UsageError, match="'forest-toy' cannot be sent to other processes; work"):
        pickle.dumps(DecodedSentences(decoder, TUNE))


def test_one_that_does_is_shared_out():
    engine, decoder = CopyEngine(), Portable()
    with working_on(engine):
        found = decoded_forests(decoder, decoder.start(), TUNE.sentences)
    assert engine.pieces > 1
    wanted = decoded_forests(decoder, decoder.start(), TUNE.sentences)
    assert (found.ids, found.vocabulary) == (wanted.ids, wanted.vocabulary)
    for one, other in zip(found.in_memory().arrays, wanted.in_memory().arrays, strict=True):
        assert one.tobytes() == other.tobytes()


def test_words_are_numbered_as_they_come_however_forests_are_cut():
    decoder, vocabularies = ForestToy(), []
    for size in (1, 3, len(TUNE.sentences)):
        words = Words()
        for first in range(0, len(TUNE.sentences), size):
            made = decoder.forests(decoder.start(), TUNE.sentences[first : first + size])
            words.renumbered(made.arrays, made.vocabulary)
        vocabularies.append(words.all)
    assert len(set(vocabularies)) == 1
    said = [w for one in TUNE.sentences for w in one.text.split()[:4]]
    assert vocabularies[0] == tuple(dict.fromkeys(said))


def test_forests_that_were_made_are_not_sent():
    tuning = LiveTuning(DecodedSentences(Portable(), TUNE), Portable().start())
    sent = len(pickle.dumps(tuning))
    assert tuning.usual.forests.groups == len(TUNE.sentences)
    assert len(pickle.dumps(tuning)) - sent < 2000  # the words of references are
    copy = pickle.loads(pickle.dumps(tuning))
    assert "usual" not in vars(copy)
    weights = np.arange(3.0)
    one, other = (held.forests(weights, [4]).forests.in_memory() for held in (copy, tuning))
    assert one.vocabulary == other.vocabulary
    for left, right in zip(one.arrays, other.arrays, strict=True):
        assert left.tobytes() == right.tobytes()
