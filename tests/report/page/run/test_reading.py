"""Runs read from work directories and result files: whole, half done, damaged, moved."""

from __future__ import annotations

import fcntl
import json
import os
import shutil

import numpy as np
import pytest
import sacrebleu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.loop.forest_toy import ForestToy
from tests.helpers.loop.runs import DEV, QUICK, TEST, TUNE
from tests.helpers.loop.toy import Toy
from tests.helpers.tiers import examples
from tunesmith.cli import main
from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.loop import state
from tunesmith.loop.loop import Loop
from tunesmith.report.page.assemble import PageOptions, summary_of, view_of
from tunesmith.report.page.run.folder import is_locked
from tunesmith.report.page.run.reading import SetFiles, UserFiles, read_run
from tunesmith.tuners.online.mira import MIRA

SETS = {"tune": TUNE, "dev": DEV, "test": TEST}


def output_of(weights, inputs):
    """Return what the toy says under weights, asked anew."""
    decoded = Toy().decode(Weights.from_dict(weights), inputs.sentences)
    return [decoded.text(k) for k in decoded.start[:-1]]


def texts_of(candidates):
    return [candidates.text(k) for k in range(len(candidates))]


def snapshot(folder):
    """Return all files of a folder with their content."""
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished run, its steps in their order, and its result."""
    folder = tmp_path_factory.mktemp("done") / "run"
    steps = []
    replace = os.replace

    def noting(source, target):
        replace(source, target)
        if os.fspath(target).startswith(os.fspath(folder)):
            steps.append(os.path.relpath(target, folder))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state.os, "replace", noting)
        result = Loop(rounds=3).run(
            Toy(), QUICK, TUNE, dev=DEV, test=TEST, work_dir=folder, others=["chrf"]
        )
    return folder, steps, result


#: What is shown does not matter.
LITTLE = PageOptions(sentences=0, curves=0, map_features=0, weights=2)


def test_a_finished_run(done):
    folder, _, result = done
    before = snapshot(folder)
    record = read_run(folder)
    assert snapshot(folder) == before  # nothing is written, not even a lock
    assert summary_of(record).state == "ended"
    assert record.missing == ()
    assert record.result == json.loads((folder / "result.json").read_text())
    assert dict(record.weights) == dict(result.weights)
    assert list(record.sets) == ["tune", "dev", "test"]
    for which, inputs in SETS.items():
        held = record.sets[which]
        assert not held.is_partial
        assert texts_of(held.before) == output_of(result.start, inputs)
        assert texts_of(held.after) == output_of(result.weights, inputs)
        references = [[own[0] for own in inputs.references]]
        score = sacrebleu.corpus_bleu(texts_of(held.after), references, tokenize="none", force=True)
        own = result if which == "tune" else getattr(result, which)
        assert own.score == pytest.approx(score.score)
        assert held.lists.candidates.sources == tuple(s.text for s in inputs.sentences)
    counts = result.rounds[-1]["candidates"]
    assert len(record.sets["tune"].lists.candidates) == counts


@pytest.mark.long
def test_a_run_that_ended_after_any_step(done, tmp_path):
    folder, steps, _ = done
    for count in range(1, len(steps)):
        half = tmp_path / str(count)
        for step in steps[:count]:
            (half / step).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / step, half / step)
        partial = half / os.path.dirname(steps[count])
        partial.mkdir(parents=True, exist_ok=True)
        (partial / f"{state.PARTIAL}{os.path.basename(steps[count])}").write_bytes(b'{"we')
        before = snapshot(half)
        record = read_run(half)
        assert snapshot(half) == before
        scored = sum(step.endswith("/scores.json") for step in steps[:count])
        assert len(record.result["rounds"]) == scored
        assert record.is_running  # nobody can tell whether it is: there is no lock
        assert record.result.get("tuner", "") in {"mert", ""}
        if scored:
            known = record.result["rounds"]
            best = max(range(scored), key=lambda k: known[k]["dev_score"])
            assert [one["chosen"] for one in known].index(True) == best
            assert dict(record.weights) == known[best]["weights"]
            assert list(record.sets) == (["tune", "dev", "test"] if count > 3 else [])
            assert texts_of(record.sets["dev"].after) == output_of(record.weights, DEV)
        view = view_of(record, PageOptions(sentences=3, curves=2, map_features=2))
        json.dumps(view.to_dict(), allow_nan=False)


def test_who_holds_the_folder_is_known(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    assert is_locked(folder) is False
    (folder / "result.json").unlink()
    record = read_run(folder)
    assert not record.is_running
    assert summary_of(record).state == "interrupted"
    assert any("nobody seems to work on it" in text for text in record.missing)
    with open(folder / state.LOCK, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert is_locked(folder) is True
        record = read_run(folder)
    assert record.is_running
    assert summary_of(record).state == "running"
    assert record.missing == ()


def test_a_folder_of_an_older_version(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    (folder / "about.json").unlink()
    (folder / "texts.json").unlink()
    record = read_run(folder)
    assert record.sets == {}
    assert any("give --dev-references" in text for text in record.missing)
    for which, inputs in SETS.items():
        lines = "".join(f"{own[0]}\n" for own in inputs.references)
        (tmp_path / which).write_text(lines)
        (tmp_path / f"{which}.source").write_text("".join(f"{s.text}\n" for s in inputs.sentences))
    given = UserFiles(
        SetFiles(references=(str(tmp_path / "tune"),)),
        SetFiles(references=(str(tmp_path / "dev"),), source=str(tmp_path / "dev.source")),
    )
    found = read_run(folder, given)
    assert list(found.sets) == ["tune", "dev"]
    assert texts_of(found.sets["dev"].after) == output_of(found.weights, DEV)
    wrong = tmp_path / "wrong"
    wrong.write_text("ba bo\n" * len(TUNE.sentences))
    doubted = read_run(folder, UserFiles(SetFiles(references=(str(wrong),))))
    assert any("as it is read here" in text for text in doubted.missing)


@pytest.mark.parametrize(
    ("name", "content", "lost"),
    [
        ("round-01/scores.json", b'{"outputs": ', "Rounds from 1 on"),
        ("round-01/scores.json", b"{}", "Rounds from 1 on"),
        ("round-01/tuned.json", b"[]", "Rounds from 1 on"),
        ("round-00/dev.arrow", b"ARROW1", "held-out set is not shown"),
        ("texts.json", b"{", "Sentences and references are not shown"),
        ("texts.json", b'{"tune": {"ids": 3}}', "tuning set is not shown"),
        ("result.json", b"{", "The result is not shown"),
    ],
)
def test_a_damaged_file_is_told(done, tmp_path, name, content, lost):
    folder = shutil.copytree(done[0], tmp_path / "run")
    (folder / name).write_bytes(content)
    if name.startswith("round-01"):
        (folder / "result.json").unlink()
    record = read_run(folder)
    assert any(lost in text for text in record.missing), record.missing
    json.dumps(view_of(record, PageOptions(3, curves=2, map_features=2)).to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("tuner", "kind"), [(QUICK, "forests"), (MIRA(epochs=2), "live"), (MIRA(epochs=2), "forests")]
)
def test_loops_on_forests(tmp_path, tuner, kind):
    limit = {} if kind == "live" else {"rounds": 2}
    result = Loop(tune_on=kind, **limit).run(
        ForestToy(), tuner, TUNE, dev=DEV, work_dir=tmp_path / "run"
    )
    record = read_run(tmp_path / "run")
    assert record.missing == ()
    assert [held.is_partial for held in record.sets.values()] == [True, True]
    for which, own in (("tune", result), ("dev", result.dev)):
        held = record.sets[which]
        for output, score in ((held.before, own.initial_score), (held.after, own.score)):
            scored = ts.TuningSet(output, "bleu")
            assert scored.score(np.arange(scored.groups)) == pytest.approx(score)
        assert held.before.ids == held.after.ids == held.lists.candidates.ids
    if kind == "forests":
        # What the weights choose from the lists is what they choose from the forests.
        lists = record.sets["tune"].lists
        chosen = lists.score_at(record.weights.aligned(lists.names))
        assert chosen == pytest.approx(result.score)


def test_what_is_no_run(tmp_path):
    with pytest.raises(UsageError, match="no work directory"):
        read_run(tmp_path)
    with pytest.raises(FormatError, match="no such file"):
        read_run(tmp_path / "nothing")
    for name, text in (
        ("moses.ini", "[weight]\nLM0= 0.5\n"),
        ("weights.json", '{"LM0": 0.5}'),
        ("list.json", "[1, 2]"),
        ("nan.json", '{"schema": "tunesmith.tune/1", "score": NaN}'),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(FormatError, match="no result of a run"):
            read_run(tmp_path / name)
    (tmp_path / "configuration.json").write_text('{"schema": "tunesmith.loop/9"}')
    with pytest.raises(UsageError, match="another version"):
        read_run(tmp_path)
    (tmp_path / "configuration.json").write_text("{")
    with pytest.raises(UsageError, match="damaged"):
        read_run(tmp_path)


@pytest.fixture(scope="module")
def files(tmp_path_factory, bundled):
    """A folder with lists, a held-out set, and the result of a command line."""
    folder = tmp_path_factory.mktemp("files")
    whole = ts.read(bundled / "tune.nbest.gz")
    references = (bundled / "tune.ref").read_text().split("\n")
    for name, groups in (("tune", range(40)), ("dev", range(40, 60))):
        part = whole.with_groups(list(groups))
        lines = []
        for g in range(part.groups):
            for k in range(part.start[g], part.start[g] + 5):
                values = part.features.dense[:3, k]
                lines.append(f"{g} ||| {part.text(k)} ||| A= {values[0]} B= {values[1]} ||| 0\n")
        (folder / name).write_text("".join(lines))
        (folder / f"{name}.ref").write_text("".join(f"{references[g]}\n" for g in groups))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        command = "tune --candidates tune --references tune.ref --dev-candidates dev --metric "
        command += "bleu:lowercase=true --metric chrf --dev-references dev.ref --restarts 1 --quiet"
        assert main([*command.split(), "--out", "w.json"]) == 0
    return folder


def test_a_result_file(files, monkeypatch):
    monkeypatch.chdir(files)
    record = read_run("w.json")
    assert record.missing == ()
    assert record.metric == ts.BLEU(lowercase=True)
    tuning = ts.TuningSet(ts.read("tune", ["tune.ref"]), "bleu:lowercase=true")
    held = record.sets["tune"]
    assert len(held.lists.candidates) == len(tuning.candidates)
    for weights, output, key in (
        (record.start, held.before, "initial_score"),
        (record.weights, held.after, "score"),
    ):
        own = ts.TuningSet(output, tuning.metric)
        assert own.score(np.arange(own.groups)) == pytest.approx(record.result[key])
        assert tuning.score_at(weights.aligned(tuning.names)) == pytest.approx(record.result[key])
    assert list(record.sets) == ["tune", "dev"]


def test_files_are_found_beside_the_result(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(read_run(files / "w.json").sets) == ["tune", "dev"]
    moved = tmp_path / "moved"
    shutil.copytree(files, moved)
    (moved / "out").mkdir()
    shutil.move(moved / "w.json", moved / "out" / "w.json")
    assert list(read_run(moved / "out" / "w.json").sets) == ["tune", "dev"]


def test_files_are_found_above_the_folder_that_one_is_in(files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path / "run")
    inner = tmp_path / "run" / "results"
    inner.mkdir()
    shutil.move(tmp_path / "run" / "w.json", inner / "w.json")
    monkeypatch.chdir(inner)
    record = read_run("w.json")
    assert (set(record.sets), record.missing) == ({"tune", "dev"}, ())


def test_files_that_are_gone_or_have_changed(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alone = shutil.copy(files / "w.json", tmp_path / "w.json")
    record = read_run(alone)
    assert record.sets == {}
    assert "tune is not there; give --candidates" in record.missing[0]
    view = view_of(record)
    assert view.surfaces is None
    assert view.summary.scores[0].after == record.result["score"]
    for name in ("tune", "tune.ref", "dev", "dev.ref"):
        shutil.copy(files / name, tmp_path / name)
    lines = (tmp_path / "tune").read_text().splitlines(keepends=True)
    (tmp_path / "tune").write_text("".join(lines[:-1]))
    record = read_run(alone)
    assert list(record.sets) == ["dev"]
    assert "tune has changed since" in record.missing[0]
    # What a user gives is taken, and doubts are told.
    given = UserFiles(SetFiles(candidates=(str(files / "tune"),), references=("tune.ref",)))
    assert read_run(alone, given).missing == ()


def test_results_that_say_less(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    found = json.loads((files / "w.json").read_text())
    path = tmp_path / "w.json"

    def read_with(**changed):
        path.write_text(json.dumps({**found, **changed}))
        return read_run(path)

    record = read_with(inputs=None)
    assert record.sets == {}
    assert "does not say what it was read from" in record.missing[0]
    with pytest.raises(UsageError, match="not run unasked; give --metric"):
        read_with(inputs={**found["inputs"], "metrics": ["evil.py:Metric"]})
    with pytest.raises(UsageError, match="not run unasked; give --metric"):
        read_with(inputs={**found["inputs"], "metrics": ["sum(bleu,evil.py:Metric)"]})
    with pytest.raises(UsageError, match="tuned for bleu, not chrf"):
        read_with(inputs={**found["inputs"], "metrics": ["chrf"]})
    with pytest.raises(FormatError, match="newer version"):
        read_with(schema="tunesmith.tune/2")
    for key, value in (("history", 3), ("weights", []), ("score", "high"), ("rounds", [1])):
        with pytest.raises(TunesmithError, match=f"'{key}'"):
            read_with(**{key: value})
    with pytest.raises(FormatError, match="finite number"):
        read_with(weights={"A": "x"})


@pytest.mark.parametrize(
    "change",
    [
        {"recommendation": "buy"},
        {"recommendation": ["use"]},
        {"gain": "much"},
        {"gain": None},
        {"low": True},
        {"high": 1e200},
        {"on": "moon"},
        {"sentences": 3.5},
        {"higher_is_better": 1},
        {"recommendation": "use", "gain": None, "low": None, "high": None},
    ],
)
def test_a_damaged_verdict_is_refused(files, tmp_path, monkeypatch, change):
    monkeypatch.chdir(files)
    found = json.loads((files / "w.json").read_text())
    assert found["verdict"]["on"] == "dev"
    assert view_of(read_run("w.json"), LITTLE).verdict == found["verdict"]
    found["verdict"] |= change
    path = tmp_path / "w.json"
    path.write_text(json.dumps(found))
    with pytest.raises(FormatError, match="'verdict' is not what it should be; give"):
        read_run(path)
    del found["verdict"]
    path.write_text(json.dumps(found))
    assert view_of(read_run(path), LITTLE).summary.verdict == ""


def test_the_result_of_a_loop_leads_to_its_work_directory(done, tmp_path, monkeypatch):
    folder, _, result = done
    monkeypatch.chdir(tmp_path)
    found = {**result.to_dict(), "inputs": {"metrics": ["bleu"], "work_dir": "run"}}
    (tmp_path / "w.json").write_text(json.dumps(found))
    record = read_run("w.json")
    assert record.sets == {}
    assert "run is not there, or holds another run" in record.missing[0]
    shutil.copytree(folder, tmp_path / "run")
    assert list(read_run("w.json").sets) == ["tune", "dev", "test"]


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


def places_of(value, path=()):
    """Return the ways to all values of a JSON object."""
    yield path
    inside = dict(enumerate(value)) if isinstance(value, list) else value
    for key, inner in inside.items() if isinstance(inside, dict) else ():
        yield from places_of(inner, (*path, key))


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_result_with_anything_in_it_is_refused_or_shown(files, tmp_path, monkeypatch, data):
    monkeypatch.chdir(files)
    found = json.loads((files / "w.json").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([p for p in places_of(found) if p]))
        held = found
        for key in way:
            held = held[key]
        held[last] = data.draw(JUNK)
    path = tmp_path / "w.json"
    path.write_text(json.dumps(found))
    try:
        record = read_run(path)
    except TunesmithError:
        return
    view = view_of(record, PageOptions(sentences=1, curves=1, map_features=0, weights=2))
    json.dumps(view.to_dict(), allow_nan=False)
