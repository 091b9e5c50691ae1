"""``tunesmith report``, and what ``tune`` keeps for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.cli.commands import LISTS, REFERENCES
from tests.helpers.cli.loop_task import Task
from tunesmith.cli import main

MANY = "".join(
    f"{g} ||| w{g} a b c d e f g {k} ||| f= {k} g= {(k * (g + 1)) % 5} ||| 0\n"
    for g in range(12)
    for k in range(5)
)
TESTS = MANY.replace(" a b c ", " p q r ")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with lists and the result of tuning on them."""
    folder = tmp_path_factory.mktemp("made")
    for name, lists in (("tune", MANY), ("test", TESTS)):
        (folder / f"{name}.nbest").write_text(lists)
        words = "a b c" if name == "tune" else "p q r"
        lines = "".join(f"w{g} {words} d e f g {g % 5}\n" for g in range(12))
        (folder / f"{name}.ref").write_text(lines)
    tune = ["tune", *files(folder), "--start", folder / "start.json", "--restarts", 0, "--quiet"]
    (folder / "start.json").write_text('{"f": 1.0, "g": 0.5}')
    assert main([str(a) for a in [*tune, "--out", folder / "w.json"]]) == 0
    return folder


def files(folder, *which):
    found = ["--candidates", folder / "tune.nbest", "--references", folder / "tune.ref"]
    for name, other in which:
        found += [f"--{name}-candidates", folder / f"{other}.nbest"]
        found += [f"--{name}-references", folder / f"{other}.ref"]
    return found


@pytest.mark.long
def test_a_page_and_its_pictures(cli, made, tmp_path):
    page, figures = tmp_path / "r.html", tmp_path / "pictures"
    found = cli("report", made / "w.json", "--out", page, "--figures", figures, "--map", "f,g")
    lines = found.lines()
    assert lines[0].startswith(f"{page}  ")
    assert page.stat().st_size < 10e6
    assert "<script" in page.read_text()
    pictures = {path.suffix for path in figures.iterdir()}
    assert pictures == {".png", ".svg"}
    assert f"{len(list(figures.iterdir()))} pictures" in lines[1]


def test_what_the_page_shows_as_json(cli, made, tmp_path):
    view = tmp_path / "view.json"
    told = cli("report", made / "w.json", "--out", view, "--json", "--sentences", 2).json()
    assert told["written"] == [str(view)]
    assert told["schema"] == "tunesmith.report-made/1"
    found = json.loads(view.read_text())
    result = json.loads((made / "w.json").read_text())
    assert found["schema"] == "tunesmith.report/1"
    assert found["signature"] == result["signature"]
    assert found["summary"]["scores"][0]["after"] == result["score"]
    assert len(found["sentences"][0]["shown"]) <= 2
    assert {row["feature"]: row["tuned"] for row in found["weights"]["rows"]} == result["weights"]
    kinds = {one["kind"] for one in told["warnings"]}
    assert kinds == {one["kind"] for one in found["warnings"]}


def test_a_run_whose_files_are_gone(cli, made, tmp_path):
    alone = shutil.copy(made / "w.json", tmp_path / "w.json")
    result = json.loads(alone.read_text())
    result["inputs"]["tune"]["candidates"] = ["gone.nbest"]
    alone.write_text(json.dumps(result))
    page = tmp_path / "r.html"
    found = cli("report", alone, "--out", page)
    assert found.code == 0
    assert "gone.nbest is not there; give --candidates" in found.err
    assert page.exists()
    again = cli("report", alone, "--out", page, *files(made))
    assert again.err == ""


@pytest.mark.long
def test_a_work_directory(cli, tmp_path):
    task = Task.make(tmp_path)
    assert cli(*task.arguments(work_dir=tmp_path / "run", out=tmp_path / "w.json")).code == 0
    for run in ("run", "w.json"):
        told = cli("report", tmp_path / run, "--out", tmp_path / "view.json", "--json").json()
        assert told["missing"] == []
        found = json.loads((tmp_path / "view.json").read_text())
        assert [held["which"] for held in found["sentences"]] == ["tune", "dev"]
        assert found["rounds"]["unit"] == "round"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ([], "nothing is to be written"),
        (["--out", "r.pdf"], "end it in .html"),
        (["--out", "r.html", "--map", "f"], "--map is 'f'"),
        (["--out", "r.html", "--map", "f,x"], "unknown feature 'x'"),
        (["--out", "r.html", "--map", "f,f"], "both are f"),
        (["--out", "r.html", "--sentences", "-1"], "sentences is -1"),
        (["--out", "r.html", "--metric", "chrf"], "tuned for bleu, not chrf"),
        (["--out", "r.html", "--scores", "x"], "NAME=FILE"),
    ],
)
def test_wrong_usage(refused, made, more, text):
    assert text in refused("report", made / "w.json", *more)


def test_what_is_no_run(refused, made, tmp_path):
    out = ["--out", tmp_path / "r.html"]
    assert "no result of a run" in refused("report", made / "start.json", *out)
    assert "no result of a run" in refused("report", made / "tune.ref", *out)
    assert "no such file" in refused("report", tmp_path / "nothing", *out)
    assert "no work directory" in refused("report", made, *out)
    same = ["--out", made / "w.json"]
    assert "is read too" in refused("report", made / "w.json", *same)


def test_what_tune_says_of_its_inputs(cli, made, tmp_path):
    command = ["tune", *files(made, ("test", "test")), "--metric", "bleu:lowercase=true"]
    found = cli(*command, "--metric", "chrf", "--restarts", 0, "--json").json()
    inputs = found["inputs"]
    assert inputs["metrics"] == ["bleu:lowercase=true", "chrf"]
    assert inputs["tune"]["candidates"] == [str(made / "tune.nbest")]
    assert inputs["tune"]["references"] == [str(made / "tune.ref")]
    assert inputs["test"]["candidates"] == [str(made / "test.nbest")]
    assert inputs["dev"] is None
    assert {file["path"] for file in found["data"]} >= {*inputs["tune"]["candidates"]}


@pytest.mark.long
def test_a_test_set_that_is_scored_again_is_counted(cli, made, tmp_path):
    out = tmp_path / "w.json"

    def tuned(*more):
        found = cli("tune", *files(made, ("test", "test")), "--restarts", 0, "--out", out, *more)
        assert found.code == 0
        return json.loads(out.read_text()), found.err

    first, said = tuned()
    assert (first["test_scored"], said) == (1, "")
    assert tuned()[0]["test_scored"] == 1  # the same again
    other, said = tuned("--seed", 2)
    assert other["test_scored"] == 2
    assert "this test set has been scored 2 times" in said
    assert any("scored 2 times" in text for text in other["warnings"])
    assert tuned("--seed", 3)[0]["test_scored"] == 3
    out.write_text("{")
    assert tuned()[0]["test_scored"] == 1


def test_sets_that_overlap_are_told(cli, made):
    found = cli("tune", *files(made, ("dev", "tune"), ("test", "test")), "--restarts", 0)
    assert "all 12 sentences of the held-out set are in the tuning set too" in found.err
    assert "test set" not in found.err


def test_evaluating_on_the_tuning_set_is_noted(cli, made, tmp_path):
    weights = ["--weights", made / "w.json"]
    assert "tuned on" in cli("evaluate", *files(made), *weights).err
    other = ["--candidates", made / "test.nbest", "--references", made / "test.ref"]
    assert cli("evaluate", *other, *weights).err == ""
    lists, refs = tmp_path / "lists", tmp_path / "refs"
    lists.write_text(LISTS)
    refs.write_text(REFERENCES)
    plain = ["--weights", made / "start.json"]
    assert cli("evaluate", "--candidates", lists, "--references", refs, *plain).err == ""


def test_what_was_proven_near_to_the_weights(cli, refused, made, tmp_path):
    weights = ["--weights", made / "w.json", "--metric", "wer"]
    curve = cli("certify", *files(made), *weights, "--within", "1,5deg", "--json").json()
    proof, view = tmp_path / "proof.json", tmp_path / "view.json"
    proof.write_text(json.dumps(curve))
    made_of = ["report", made / "w.json", "--out", view, "--certificate"]
    assert cli(*made_of, proof).code == 0
    shown = json.loads(view.read_text())["certified"]
    assert shown["metric"] == "wer"
    assert [point["degrees"] for point in shown["curve"]] == [1.0, 5.0]
    assert shown["certificate"]["bound"] == curve["certificate"]["bound"]
    # Weights of another scale choose the same.
    proof.write_text(
        json.dumps(curve | {"weights": {n: 3 * w for n, w in curve["weights"].items()}})
    )
    assert cli(*made_of, proof).code == 0
    proof.write_text(json.dumps(curve | {"weights": {"f": 0.1, "g": -1.0}}))
    assert "it is about other weights; certify those of the run" in refused(*made_of, proof)
    for part in ({"curve": [1]}, {"certificate": {}}, {"curve": [{"degrees": 1, "bound": "x"}]}):
        proof.write_text(json.dumps(curve | part))
        assert "this is no whole certificate" in refused(*made_of, proof)
    proof.write_text("[]")
    assert "this is no certificate" in refused(*made_of, proof)
    assert "no such file" in refused(*made_of, tmp_path / "none.json")
    assert "is read too" in refused(
        *made_of[:3], proof.with_suffix(".json"), "--certificate", proof
    )
