"""``tunesmith tune --log``: trackers, beside a result that stays as it is."""

from __future__ import annotations

import json

import pytest

from tests.helpers.cli.commands import LISTS, REFERENCES, python
from tests.helpers.cli.loop_task import Task


@pytest.fixture
def arguments(tmp_path):
    (tmp_path / "lists").write_text(LISTS)
    (tmp_path / "refs").write_text(REFERENCES)
    own = ["tune", "--format", "moses", "--restarts", "1", "--walks", "0", "--json"]
    return [*own, "--candidates", tmp_path / "lists", "--references", tmp_path / "refs"]


def scalars(folder, tag):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return [(event.step, event.value) for event in found.Scalars(tag)]


@pytest.mark.long
def test_trackers_log_and_standard_output_is_the_result_alone(cli, arguments, tmp_path):
    plain = cli(*arguments).json()
    logged = cli(
        *arguments, "--log", f"tensorboard:{tmp_path / 'tb'}", "--log", f"mlflow:{tmp_path / 'ml'}"
    )
    found = logged.json()
    assert logged.err == ""
    for result in (found, plain):
        del result["inputs"]["command"], result["inputs"]["date"]
    assert {**found, "seconds": 0} == {**plain, "seconds": 0}
    assert scalars(tmp_path / "tb", "final/score")[0][1] == pytest.approx(plain["score"], rel=1e-6)
    assert json.loads((tmp_path / "tb" / "result.json").read_text())["weights"] == plain["weights"]
    assert (tmp_path / "ml" / "mlflow.db").exists()


@pytest.mark.long
def test_rounds_of_a_loop_are_logged_once_though_it_is_run_again(cli, tmp_path):
    task = Task.make(tmp_path)
    log = "--log", f"tensorboard:{tmp_path / 'tb'}", "--work-dir", tmp_path / "run", "--json"
    cli(*task.arguments(*log, rounds=1))
    found = cli(*task.arguments(*log, rounds=2)).json()
    expected = [
        (one["round"], pytest.approx(one["dev_score"], rel=1e-6)) for one in found["rounds"]
    ]
    assert scalars(tmp_path / "tb", "score/dev") == expected


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("tensorboard", "does not say where to; give tensorboard:FOLDER"),
        ("comet:x", "unknown tracker 'comet'"),
        ("tensorboard:{}/lists", "give tensorboard a folder to write to"),
    ],
)
def test_what_cannot_be_logged_to_is_said_first(cli, arguments, tmp_path, log, told):
    found = cli(*arguments, "--log", log.format(tmp_path))
    assert found.code == 2
    assert told in found.err
    assert found.err.count("\n") == 1


@pytest.mark.long
def test_a_tracker_that_fails_is_a_warning_in_the_result(cli, arguments):
    found = cli(*arguments, "--log", "mlflow:nothing://there")
    assert found.code == 0
    assert "warning: logging to mlflow failed, and the run goes on without it" in found.err
    assert any("logging to mlflow failed" in said for said in found.json()["warnings"])


@pytest.mark.long
def test_nothing_is_imported_that_is_not_asked_for(arguments):
    code = (
        "import sys; from tunesmith.cli import main; main(sys.argv[1:])\n"
        "sys.stderr.write(str({'mlflow', 'tensorboard', 'wandb'} & set(sys.modules)))"
    )
    assert python("-c", code, *arguments).stderr == "set()"
