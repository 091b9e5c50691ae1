"""Trackers: what they log is read back with their own readers; what they refuse is sanitized."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.loop.toy import Toy, sentences
from tests.helpers.waiting import PATIENCE
from tunesmith.errors import MissingExtraError, TunesmithError, UsageError
from tunesmith.integrations import mlflow as our_mlflow
from tunesmith.integrations.mlflow import MLflowCallback
from tunesmith.integrations.tensorboard import TensorBoardCallback
from tunesmith.integrations.tracking import figure_name, largest, sanitized, tracker_of
from tunesmith.integrations.wandb import WandbCallback
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.tuners.mert.mert import MERT

QUICK = MERT(restarts=1, walks=0)
SETS = {"tune": Inputs.of(*sentences(12, 1)), "dev": Inputs.of(*sentences(9, 2))}
#: Names that one tracker or the other refuses, or would take for the same.
HARD = ["a/b", "a:b", "a b", "..", ".", "größe", "x" * 300, "x" * 299 + "y", "<b>", "a_b", "50%"]

#: Bytes of a block of wandb's file.
BLOCK = 32768


def loop(callback, rounds=2, **about):
    """Run a loop of a few rounds."""
    made = Loop(rounds=rounds, weight_tolerance=0.0)
    return made.run(Toy(), QUICK, **SETS, callbacks=[callback], **about)


def fit(callback, names=("f0", "f1")):
    """Tune on few candidates."""
    rng = np.random.default_rng(0)
    features = {name: rng.normal(size=30) for name in names}
    groups = np.repeat(range(6), 5)
    made = ts.from_arrays(groups=groups, features=features, columns={"y": rng.normal(size=30)})
    return QUICK.fit(ts.TuningSet(made, "column:y"), callbacks=[callback])


def by_step(result, key):
    """Return a figure of each round."""
    return {entry["round"]: entry[key] for entry in result.rounds}


@pytest.mark.long  # importing it takes seconds
class TestTensorBoard:
    def read(self, folder):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        found.Reload()
        return found

    def scalars(self, folder, tag):
        return [(event.step, event.value) for event in self.read(folder).Scalars(tag)]

    def text(self, folder, tag):
        (event,) = self.read(folder).Tensors(tag)
        return event.tensor_proto.string_val[0].decode()

    def test_rounds_are_scalars(self, tmp_path):
        result = loop(TensorBoardCallback(tmp_path / "new" / "tb"))
        folder = tmp_path / "new" / "tb"
        for tag, key in (
            ("score/tune", "score"),
            ("score/dev", "dev_score"),
            ("length_ratio/tune", "length_ratio"),
            ("length_ratio/dev", "dev_length_ratio"),
        ):
            expected = by_step(result, key)
            assert dict(self.scalars(folder, tag)) == pytest.approx(expected, rel=1e-6)
            assert len(self.scalars(folder, tag)) == len(expected)
        for name in result.weights:
            weights = {e["round"]: e["weights"].get(name) for e in result.rounds}
            assert dict(self.scalars(folder, f"weights/{name}")) == pytest.approx(weights, rel=1e-6)
        assert json.loads((folder / "result.json").read_text())["score"] == result.score
        assert result.signature in self.text(folder, "signature")
        assert "tuner.restarts: 1" in self.text(folder, "settings")

    def test_a_run_that_goes_on_is_shown_once(self, tmp_path):
        loop(TensorBoardCallback(tmp_path / "tb"), 1, work_dir=tmp_path / "run")
        result = loop(TensorBoardCallback(tmp_path / "tb"), 3, work_dir=tmp_path / "run")
        found = self.scalars(tmp_path / "tb", "score/tune")
        assert found == [
            (step, pytest.approx(value, rel=1e-6))
            for step, value in by_step(result, "score").items()
        ]

    def test_no_tensorflow_is_imported(self, tmp_path):
        code = (
            "import sys\nfrom tests.integrations.test_callbacks import *\n"
            f"fit(TensorBoardCallback({str(tmp_path)!r}))\n"
            "print('tensorflow' in sys.modules)\n"
        )
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout == "False\n"

    def test_any_name_is_a_tag(self, tmp_path):
        result = fit(TensorBoardCallback(tmp_path), HARD)
        for name in HARD:
            ((_, value),) = self.scalars(tmp_path, f"weights/{name}")
            assert value == pytest.approx(result.weights[name], rel=1e-6)

    def test_a_file_in_the_place_of_the_folder(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="give tensorboard a folder to write to"):
            TensorBoardCallback(tmp_path / "file")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return where one database is for all tests: it takes seconds to make."""
    return tmp_path_factory.mktemp("mlflow")


@pytest.mark.long  # importing it takes seconds
class TestMLflow:
    @pytest.fixture
    def name(self, request):
        return request.node.name

    def client(self, folder):
        from mlflow.tracking import MlflowClient

        return MlflowClient(f"sqlite:///{folder}/mlflow.db")

    def runs(self, folder, experiment):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client = self.client(folder)
            found = client.get_experiment_by_name(experiment)
            return client.search_runs([found.experiment_id])

    def history(self, folder, run, name):
        return [
            (metric.step, metric.value)
            for metric in self.client(folder).get_metric_history(run.info.run_id, name)
        ]

    def test_rounds_are_metrics(self, folder, name):
        result = loop(MLflowCallback(folder, name, run_name="first"))
        (run,) = self.runs(folder, name)
        assert (run.info.status, run.info.run_name) == ("FINISHED", "first")
        assert run.data.params["tuner.restarts"] == "1"
        assert run.data.params["signature"] == result.signature
        for tag, key in (
            ("score/tune", "score"),
            ("score/dev", "dev_score"),
            ("length_ratio/dev", "dev_length_ratio"),
        ):
            assert self.history(folder, run, tag) == list(by_step(result, key).items())
        for feature in result.weights:
            weights = [(e["round"], e["weights"].get(feature)) for e in result.rounds]
            assert self.history(folder, run, f"weights/{feature}") == weights
        assert run.data.metrics["final/score"] == result.score
        path = self.client(folder).download_artifacts(run.info.run_id, "result.json")
        with open(path, encoding="utf-8") as file:
            assert json.load(file)["score"] == result.score

    def test_a_run_that_goes_on_is_one_run_without_repetitions(self, folder, name, tmp_path):
        loop(MLflowCallback(folder, name), 1, work_dir=tmp_path / "run")
        result = loop(MLflowCallback(folder, name), 3, work_dir=tmp_path / "run")
        (run,) = self.runs(folder, name)
        assert self.history(folder, run, "score/tune") == list(by_step(result, "score").items())
        assert run.data.params["rounds"] == "1"
        assert run.data.tags["now.rounds"] == "3"
        fit(MLflowCallback(folder, name))
        fit(MLflowCallback(folder, name))
        assert len(self.runs(folder, name)) == 3  # others are others

    def test_hard_names_are_mended_and_stay_apart(self, folder, name):
        result = fit(MLflowCallback(folder, name), HARD)
        (run,) = self.runs(folder, name)
        logged = {n: v for n, v in run.data.metrics.items() if n.startswith("weights/")}
        assert sorted(logged.values()) == sorted(result.weights.values())
        for feature in ("a b", "größe", "a_b"):
            assert logged[f"weights/{feature}"] == result.weights[feature]

    def test_the_active_run_is_logged_to_and_stays_open(self, folder, name):
        import mlflow

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
            try:
                mlflow.create_experiment(name, artifact_location=(folder / "files").as_uri())
                mlflow.set_experiment(name)
                with mlflow.start_run() as active:
                    result = fit(MLflowCallback())
                    mlflow.log_param("mine", "yes")
            finally:
                mlflow.set_tracking_uri(None)
        (run,) = self.runs(folder, name)
        assert run.info.run_id == active.info.run_id
        assert run.data.params["mine"] == "yes"
        assert run.data.metrics["final/score"] == result.score

    def test_runs_that_fail_are_marked(self, folder, name):
        callback = MLflowCallback(folder, name)
        callback.on_start({"tuner": "mert"}, None)
        callback.on_failure(KeyboardInterrupt())
        callback.on_start({"tuner": "mert"}, None)
        callback.on_failure(ValueError("no"))
        assert {run.info.status for run in self.runs(folder, name)} == {"KILLED", "FAILED"}

    def test_a_server_that_is_not_there_is_one_warning(self, monkeypatch):
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
        with pytest.warns(UserWarning, match="logging to mlflow failed") as told:
            result = fit(MLflowCallback("http://127.0.0.1:9"))
        assert len(told) == 1
        assert result.weights

    @pytest.mark.parametrize(("own", "held"), [(None, "3"), ("9", "9")])
    def test_patience_with_a_server_is_short_unless_the_user_has_more(self, own, held, monkeypatch):
        variable = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
        monkeypatch.delenv(variable, raising=False)
        if own is not None:
            monkeypatch.setenv(variable, own)
        seen = []
        tracker = MLflowCallback("http://127.0.0.1:9")
        tracker._open = lambda settings, key: seen.append(os.environ[variable])
        tracker.on_start({}, None)
        assert (seen, os.environ.get(variable)) == ([held], own)

    @pytest.mark.parametrize(
        ("text", "is_uri"),
        [
            ("http://host:5000", True),
            ("sqlite:///a.db", True),
            ("file:/a", True),
            ("databricks", True),
            ("runs/ml", False),
            (r"C:\runs", False),
        ],
    )
    def test_uris_and_folders(self, text, is_uri):
        assert our_mlflow._is_uri(text) == is_uri


@pytest.mark.long  # importing it takes seconds
class TestWandb:
    @pytest.fixture(autouse=True)
    def quiet(self, monkeypatch):
        monkeypatch.setenv("WANDB_SILENT", "true")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of wandb's own imports
            import wandb
        wandb.setup()  # it looks at the environment once in a process
        monkeypatch.setenv("WANDB_MODE", "offline")

    def records(self, folder):
        """Return what is in the file of an offline run, which wandb's own process writes."""
        until = time.monotonic() + PATIENCE
        while True:
            (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
            found = self.parsed(path.read_bytes())
            if any(record.HasField("exit") for record in found):
                return found
            assert time.monotonic() < until, "the file has no end"
            time.sleep(0.05)

    def parsed(self, data):
        """Return the records of a log as LevelDB has it."""
        from wandb.proto import wandb_internal_pb2

        at, whole, found = 7, b"", []
        while at + 7 <= len(data):
            if BLOCK - at % BLOCK < 7:  # what is left of a block is padding
                at += BLOCK - at % BLOCK
                continue
            length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
            whole += data[at + 7 : at + 7 + length]
            at += 7 + length
            if kind in (1, 4):  # all of it, or its last part
                record = wandb_internal_pb2.Record()
                record.ParseFromString(whole)
                found.append(record)
                whole = b""
        return found

    def history(self, folder):
        """Return all figures by name and step."""
        found = {}
        for record in self.records(folder):
            if record.WhichOneof("record_type") == "history":
                items = record.history.item
                row = {i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items}
                for key, value in row.items():
                    found.setdefault(key, {})[row["_step"]] = value
        return found

    def test_rounds_are_in_the_offline_file(self, tmp_path):
        result = loop(WandbCallback("toys", dir=tmp_path))
        found = self.history(tmp_path)
        assert found["score/tune"] == by_step(result, "score")
        assert found["score/dev"] == by_step(result, "dev_score")
        for name in result.weights:
            expected = {e["round"]: e["weights"].get(name) for e in result.rounds}
            assert found[f"weights/{name}"] == expected
        (file,) = tmp_path.glob("wandb/offline-run-*/files/result.json")
        assert json.loads(file.read_text())["score"] == result.score

    def test_a_run_that_is_begun_is_logged_to_and_stays_open(self, tmp_path):
        import wandb

        quiet = wandb.Settings(console="off")
        run = wandb.init(project="mine", mode="offline", dir=tmp_path, settings=quiet)
        try:
            run.log({"own": 1.0})
            result = fit(WandbCallback())
            assert wandb.run is run
            run.log({"own": 2.0})
        finally:
            run.finish()
        found = self.history(tmp_path)
        assert list(found["own"].values()) == [1.0, 2.0]
        assert max(found["score/tune"].items())[1] == result.score

    def test_a_key_makes_the_same_run(self, tmp_path):
        callback = WandbCallback("toys", dir=tmp_path)
        callback.on_start({"tuner": "mert"}, "0123456789abcdef")
        callback.on_failure(KeyboardInterrupt())
        (record,) = [r.run for r in self.records(tmp_path) if r.HasField("run")][:1]
        assert record.run_id == "0123456789abcdef"


class TestNames:
    @given(st.lists(st.text(max_size=8), unique=True, max_size=6))
    def test_no_two_become_one(self, names):
        refused = re.compile(r"[^a-c]")
        found = [sanitized(name, refused, 12) for name in names]
        again = [sanitized(name, refused, 12) for name in found]
        assert len(set(found)) == len(names)
        assert not set(found) & {new for old, new in zip(found, again, strict=True) if old != new}
        for name, new in zip(names, found, strict=True):
            assert 0 < len(new) <= 12
            assert new == name or re.fullmatch(r"[a-c_]*_[0-9a-f]{8}", new)

    def test_sets_stand_side_by_side(self):
        names = ("score", "dev_score", "test_length_ratio", "list_score", "dev_other")
        expected = ["score/tune", "score/dev", "length_ratio/test", "list_score", "dev_other"]
        assert [figure_name(name) for name in names] == expected

    def test_of_many_weights_the_largest_are_logged(self):
        weights = ts.Weights.from_dict({"a": 1.0, "b": -3.0, "c": 2.0, "d": 0.5})
        assert largest(weights, 2) == {"b": -3.0, "c": 2.0}
        assert largest(weights, 9) == dict(weights)


class TestAskedFor:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("tensorbord:x", "did you mean tensorboard"),
            ("mlflow", "give mlflow:URI_OR_FOLDER"),
            ("wandb:", "give wandb:PROJECT"),
        ],
    )
    def test_what_is_no_tracker(self, text, told):
        with pytest.raises(TunesmithError, match=told):
            tracker_of(text)

    @pytest.mark.parametrize("kind", ["mlflow", "tensorboard", "wandb"])
    def test_missing_packages(self, kind, monkeypatch, tmp_path):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=re.escape(f"tunesmith[{kind}]")):
            tracker_of(f"{kind}:{tmp_path}")

    def test_weights_below_0(self):
        with pytest.raises(UsageError, match="weights is -1"):
            WandbCallback(weights=-1)
