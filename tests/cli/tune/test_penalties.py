"""``tunesmith tune``: penalties, paths of settings, test sets and directions by gradient."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import (
    Candidate,
    Run,
    bleu,
    by_group,
    distinct,
    model_score,
    parse_moses,
    random_lists,
)

pytestmark = pytest.mark.long

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]
Tune = Callable[..., dict[str, Any]]

#: A metric without slope, as a user may write it.
NO_SLOPE = '''
from dataclasses import dataclass
import numpy as np
from tunesmith.metrics.base import Metric

@dataclass(frozen=True)
class Exact(Metric):
    """The share of outputs that equal a reference."""
    is_sum = True
    stat_names = ("right", "all")
    def stats(self, hypothesis, references):
        return np.array([hypothesis in references, 1])
    def score(self, stats):
        return 100.0 * stats[..., 0] / stats[..., 1]
    def signature(self):
        return "exact"
'''


@pytest.fixture
def sets(make: Make) -> dict[str, tuple[Path, Path]]:
    """Three sets of lists with their references, and weights."""
    for k, name in enumerate(("tune", "dev", "test")):
        lines, references = random_lists(10 + k, groups=24)
        make(f"{name}.nbest", "".join(f"{line}\n" for line in lines))
        make(f"{name}.ref", "".join(f"{line}\n" for line in references))
    folder = make("start.json", '{"TM0_1": 1, "TM0_2": 0.3, "WP0": -0.5}').parent
    make("own.py", NO_SLOPE)
    make("other.json", '{"Other": 1}')
    make("partly.json", '{"WP0": -1, "Other": 1}')
    make("zero.json", '{"TM0_1": 1, "WP0": 0}')
    make("no-weights.txt", "this is no weights file\n")
    make("nothing.json", "{}")
    return {n: (folder / f"{n}.nbest", folder / f"{n}.ref") for n in ("tune", "dev", "test")}


@pytest.fixture
def base(sets: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The command in the folder of the lists, with a little search."""
    monkeypatch.chdir(sets["tune"][0].parent)
    files = ["--candidates", "tune.nbest", "--references", "tune.ref"]
    return ["tune", *files, "--restarts", 1, "--walks", 0]


START = ["--start", "start.json", "--quiet"]
DEV = ["--dev-candidates", "dev.nbest", "--dev-references", "dev.ref"]
TEST = ["--test-candidates", "test.nbest", "--test-references", "test.ref"]


@pytest.fixture
def tune(cli: Run, base: list[object]) -> Tune:
    """Tune with some options, and return the JSON object."""

    def run(*options: object) -> dict[str, Any]:
        return cli(*base, *START, "--json", *options).json()

    return run


def bleu_of(path: tuple[Path, Path], weights: dict[str, float]) -> float:
    """Score the winners with sacrebleu, found by plain loops."""
    groups = by_group(distinct(parse_moses(path[0].read_text().splitlines())))

    def score(candidate: Candidate) -> float:
        return model_score(candidate, weights)

    chosen = [max(group, key=score).text for group in groups.values()]
    return float(bleu(chosen, [path[1].read_text().splitlines()]).score)


# What it does.


def test_a_path(tune: Tune, sets: dict[str, tuple[Path, Path]]) -> None:
    strengths = [1e-4, 1e-3, 1e-2]
    penalty = ["--penalty", "l2-prior", "--prior", "start.json"]
    penalty += ["--strength", "1e-4,1e-3, 1e-2"]
    found = tune(*penalty, *DEV, *TEST, "--seed", 5)
    path = found["path"]
    assert [entry["strength"] for entry in path] == strengths
    (best,) = [entry for entry in path if entry["chosen"]]
    assert best["dev_score"] == max(entry["dev_score"] for entry in path)
    assert (best["score"], best["dev_score"]) == (found["score"], found["dev"]["score"])
    assert best["test_score"] == found["test"]["score"]
    for name, key in (("tune", "score"), ("dev", "dev_score"), ("test", "test_score")):
        assert best[key] == pytest.approx(bleu_of(sets[name], found["weights"]), abs=1e-9)
    prior = {"TM0_1": 1, "TM0_2": 0.3, "WP0": -0.5}
    away = sum((value - prior.get(name, 0)) ** 2 for name, value in found["weights"].items())
    assert best["penalty"] == pytest.approx(best["strength"] * away)
    assert {"nonzero", "line_searches", "seconds", "length_ratio"} <= set(best)
    assert {entry["strength"] for entry in found["history"]} == set(strengths)
    assert [Path(file["path"]).name for file in found["data"]] == [
        name for which in ("tune", "dev", "test") for name in (f"{which}.nbest", f"{which}.ref")
    ]
    assert "|penalty:l2-prior|strength:0.0001,0.001,0.01|prior:" in found["signature"]
    assert found["prior"] == prior
    # The same without a test set, and with each number given by itself.
    each = ["--strength", "1e-4", "--strength", "1e-3", "--strength", "1e-2"]
    assert tune(*penalty[:4], *each, *DEV, "--seed", 5)["weights"] == found["weights"]


def test_the_table_shows_the_path(cli: Run, base: list[object]) -> None:
    options = ["--penalty", "l0", "--strength", "1e-3,2e-3", "--length-scale", "1,1.05"]
    found = cli(*base, *START, *options, *DEV, *TEST)
    lines = found.lines()
    begin = lines.index(next(line for line in lines if line.startswith("path")))
    rows = [[text.strip() for text in line[1:-1].split(line[0])] for line in lines[begin + 2 :]]
    heads = ["strength", "length scale", "tune", "dev", "test", "nonzero", ""]
    assert rows[0] == heads
    settings = [["0.001", "1"], ["0.002", "1"], ["0.001", "1.05"], ["0.002", "1.05"]]
    assert [row[:2] for row in rows[2:6]] == settings
    assert sum(row[-1] == "best on dev" for row in rows[2:6]) == 1
    scores = [float(row[3]) for row in rows[2:6]]
    assert rows[2 + scores.index(max(scores))][-1] == "best on dev"
    (test,) = [line for line in lines[:begin] if line.startswith("│ test")]
    (dev,) = [line for line in lines[:begin] if line.startswith("│ dev")]
    assert f"{max(scores):.2f}" in dev
    assert test.split()[5] in {row[4] for row in rows[2:6]}


def test_one_strength_needs_no_held_out_set(cli: Run, base: list[object]) -> None:
    found = cli(*base, *START, "--penalty", "l0", "--strength", "1e-3")
    assert "path" not in found.out
    assert found.code == 0, found.err


def test_l0_writes_zeros(tune: Tune, cli: Run, base: list[object], tmp_path: Path) -> None:
    found = tune("--penalty", "l0", "--strength", "0.005", "--out", "w.json")
    assert 0 < sum(value == 0 for value in found["weights"].values()) < len(found["weights"])
    assert json.loads((tmp_path / "w.json").read_text())["weights"] == found["weights"]
    assert found["path"] is None
    assert found["history"][-1]["penalty"] > 0
    assert cli(*base, "--start", "w.json", "--penalty", "l0", "--strength", "0.005").code == 0


def test_l2_fixed_holds_its_weight(tune: Tune) -> None:
    options = ["--penalty", "l2-fixed", "--fixed-feature", "WP0", "--strength", "0.01"]
    assert tune(*options)["weights"]["WP0"] == -0.5
    assert tune(*options, "--fix", "WP0=-2")["weights"]["WP0"] == -2
    named = tune(*options, "--fix", "WP0=1", "--normalise", "WP0")
    assert named["weights"]["WP0"] == 1


def test_l2_normalized(tune: Tune) -> None:
    weights = tune("--penalty", "l2-normalized", "--strength", "100")["weights"].values()
    # So strong that all weights, 0 too at the start, become of one size.
    ratio = sum(w * w for w in weights) / sum(map(abs, weights)) ** 2
    assert ratio == pytest.approx(1 / len(weights), rel=0.05)


def test_a_core_run_gives_the_prior(tune: Tune) -> None:
    core = ["--core", "TM0_*", "--core", "WP0"]
    found = tune("--penalty", "l2-prior", *core, "--strength", "1e6", "--restarts", 0)
    alone = tune("--keep", "TM0_*", "--keep", "WP0", "--restarts", 0)
    assert found["score"] == alone["score"]
    # With a penalty the scale of weights means something, so it is not that of the start.
    scale = found["weights"]["WP0"] / alone["weights"]["WP0"]
    assert scale > 0
    for name, value in found["weights"].items():
        assert value == pytest.approx(scale * alone["weights"].get(name, 0), abs=1e-4)


def test_other_metrics_on_the_test_set(tune: Tune) -> None:
    found = tune("--metric", "bleu", "--metric", "ter", *DEV, *TEST)
    (ter,) = found["others"]
    assert ter["metric"] == "ter"
    assert ter["test"]["score"] != ter["dev"]["score"] != ter["score"]
    assert found["test"]["initial_score"] != found["dev"]["initial_score"]


def test_scores_of_a_test_set(tune: Tune, make: Make) -> None:
    options: list[object] = ["--metric", "column:judge"]
    for which, prefix in (("tune", ""), ("test", "test-")):
        make(f"{which}.judge", "".join(f"{k % 7}\n" for k in range(24 * 8)))
        options += [f"--{prefix}scores", f"judge={which}.judge"]
    found = tune(*options, "--test-candidates", "test.nbest")
    assert 0 < found["test"]["score"] <= 6
    assert found["dev"] is None


@pytest.mark.parametrize("directions", ["gradient", "gradient:steps=0", "gradient:first=1,last=64"])
def test_directions_by_gradient(tune: Tune, directions: str) -> None:
    plain = ["--directions", directions]
    found = tune(*plain)
    assert found["score"] > found["initial_score"]
    assert "gradient" in {entry["direction"] for entry in found["history"]}
    assert f"directions:{directions}" in found["signature"]
    for metric in ("ter", "sentence-bleu", "sum(0.5*bleu,0.5*ter)"):
        assert tune(*plain, "--metric", metric)["history"]


def test_gradient_climbs_once(cli: Run, base: list[object]) -> None:
    once = cli(*base[:-4], *START, "--json", "--directions", "gradient").json()
    assert {entry["restart"] for entry in once["history"]} == {0}
    assert sum(entry["direction"] is None for entry in once["history"]) == 1
    more = cli(*base, *START, "--json", "--directions", "gradient").json()
    assert {entry["restart"] for entry in more["history"]} == {0, 1}


def test_directions_are_listed(cli: Run) -> None:
    said = cli("list", "directions").out
    assert "gradient: Search along the gradient of the expected metric" in said
    assert "steps" in said


def test_a_prior_that_fits_partly_is_warned_of(cli: Run, base: list[object]) -> None:
    penalty = ["--penalty", "l2-prior", "--strength", "0.1", "--prior", "partly.json"]
    found = cli(*base, "--json", *penalty)
    said = found.err.splitlines()
    assert len(said) == 2
    assert said[0].startswith(
        "tunesmith: warning: partly.json: prior: 11 features without a weight"
    )
    assert said[1].endswith("1 weight without a feature in the data, not used: Other")
    assert found.json()["warnings"] == [line.removeprefix("tunesmith: warning: ") for line in said]
    assert "Other" not in found.json()["weights"]
    # Along features alone it crawls here, by tens of thousands of steps.
    assert found.json()["line_searches"] < 1000


# What it refuses: one line, exit code 2, nothing written.

L0 = ["--penalty", "l0"]
PRIOR = ["--penalty", "l2-prior", "--strength", "1"]
FIXED = ["--penalty", "l2-fixed", "--strength", "1"]
WP0 = [*FIXED, "--fixed-feature", "WP0"]
NUMBER = "give a finite number"

#: Found out before any list is read.
AT_ONCE: list[tuple[list[str], str]] = [
    ([*L0, "--strength", "-1"], "strength is -1; give 0 or more"),
    ([*L0, "--strength", "1e-3,-1", *DEV], "strength is -1; give 0 or more"),
    ([*L0, "--strength", "nan"], NUMBER),
    ([*L0, "--strength", "inf"], NUMBER),
    ([*L0, "--strength", "1e400"], NUMBER),
    ([*L0, "--strength", "1e200"], "strength is 1e+200; give 1e+100 or less"),
    ([*L0, "--strength", "much"], NUMBER),
    ([*L0, "--strength", ""], NUMBER),
    ([*L0, "--strength", "1e-3,"], NUMBER),
    ([*L0, "--strength", "1e-3,,1e-2", *DEV], NUMBER),
    ([*L0, "--strength", "1e-3;1e-2"], NUMBER),
    ([*L0, "--strength", "1e-3,0.001", *DEV], "strength 0.001 is given twice; give each once"),
    (["--strength", "1e-3"], "strength without a penalty; give --penalty"),
    (["--penalty", "none", "--strength", "1"], "strength without a penalty"),
    (L0, "penalty l0 needs a strength; give --strength"),
    (["--penalty", "l1", "--strength", "1"], "unknown penalty of tuner 'mert' 'l1'; did you mean"),
    (["--penalty", "l2", "--strength", "1"], "did you mean l2-prior or l2-fixed or l2-normalized?"),
    (["--penalty", "l2-normalised", "--strength", "1"], "did you mean l2-normalized"),
    (PRIOR, "give --prior FILE or --core PATTERN"),
    ([*PRIOR, "--prior", ""], "give --prior FILE or --core PATTERN"),
    ([*PRIOR, "--prior", "start.json", "--core", "WP0"], "give --prior or --core, not both"),
    ([*PRIOR, "--prior", "missing"], "missing: no such file or directory"),
    ([*PRIOR, "--prior", "no-weights.txt"], "no-weights.txt:1: this is not a weights file"),
    ([*PRIOR, "--prior", "tune.nbest"], "tune.nbest:1: "),
    ([*PRIOR, "--prior", "nothing.json"], "nothing.json: there is no weight in it"),
    ([*PRIOR, "--prior", "."], ".: is a directory"),
    ([*PRIOR, "--prior", "-", "--start", "-"], "standard input can be read once"),
    ([*PRIOR, "--prior", "start.json", "--fixed-feature", "WP0"], "goes with the penalty l2-fixed"),
    ([*L0, "--strength", "1", "--prior", "start.json"], "prior goes with the penalty l2-prior"),
    ([*L0, "--strength", "1", "--core", "WP0"], "core goes with the penalty l2-prior"),
    ([*L0, "--strength", "1", "--fixed-feature", "WP0"], "fixed-feature goes with the penalty"),
    (["--prior", "start.json"], "prior goes with the penalty l2-prior"),
    (["--core", "WP0"], "core goes with the penalty l2-prior"),
    (["--fixed-feature", "WP0"], "fixed-feature goes with the penalty l2-fixed"),
    (FIXED, "l2-fixed holds one weight; name it with --fixed-feature"),
    ([*L0, "--strength", "1", "--smoothing", "mean"], "smoothing and a penalty do not go together"),
    ([*L0, "--strength", "1,2"], "among several strengths; give --dev-candidates"),
    ([*L0, "--strength", "1,2", *TEST], "among several strengths; give --dev-candidates"),
    (["--length-scale", "1,2"], "among several length scales; give --dev-candidates"),
    (["--length-scale", "0"], "length-scale is 0; give a number above 0"),
    (["--length-scale", "-1"], "length-scale is -1; give a number above 0"),
    (["--length-scale", "nan"], NUMBER),
    (["--length-scale", "1,1", *DEV], "length-scale 1 is given twice"),
    (["--length-scale", "1.1", "--metric", "chrf"], "chrf has no reference length to scale"),
    (["--length-scale", "1.1", "--metric", "ter"], "ter has no reference length to scale"),
    (
        ["--dev-references", "dev.ref"],
        "--dev-references without --dev-candidates or",
    ),
    (
        ["--dev-scores", "a=dev.ref"],
        "--dev-scores without --dev-candidates or",
    ),
    (
        ["--test-references", "test.ref"],
        "--test-references without --test-candidates or",
    ),
    (
        ["--test-scores", "a=test.ref"],
        "--test-scores without --test-candidates or",
    ),
    (["--test-candidates", "-", "--start", "-"], "standard input can be read once"),
    (["--directions", "gradient", "--metric", "own.py:Exact"], "metric 'Exact' has no gradient"),
    (["--directions", "gradient:nosuch=1"], "unknown option of direction finder 'gradient'"),
    (["--directions", "gradient:steps=-1"], "steps of gradient is -1; give 0 or more"),
    (["--directions", "gradient:steps=x"], "give a whole number"),
    (["--directions", "gradient:steps"], "has no value; write option=value"),
    (["--directions", "gradient:first=0"], "give numbers above 0, the smaller one first"),
    (["--directions", "gradient:first=2,last=1"], "the smaller one first"),
    (["--directions", "gradiant"], "did you mean gradient"),
]

#: Found out when the features are known.
LATER: list[tuple[list[str], str]] = [
    ([*PRIOR, "--prior", "other.json"], "other.json: prior: no weight has the name of a feature"),
    ([*PRIOR, "--prior", "partly.json", "--strict"], "partly.json: prior: 11 features without"),
    ([*PRIOR, "--core", "LM*"], "core 'LM*' matches no feature; did you mean"),
    ([*PRIOR, "--core", ""], "core '' matches no feature"),
    ([*PRIOR, "--core", "WP0", "--drop", "WP*"], "core 'WP0' matches no feature"),
    ([*FIXED, "--fixed-feature", "WP1"], "'WP1' (fixed-feature); did you mean WP0"),
    ([*WP0, "--drop", "WP0"], "no feature is called 'WP0' (fixed-feature)"),
    ([*WP0, "--start", "zero.json", "--quiet"], "WP0 starts at 0 and would be held there; give"),
    ([*WP0, "--fix", "WP0=0"], "fixed-feature WP0 is fixed at 0"),
    ([*WP0, "--bound", "WP0=:-9"], "and bound to :-9; choose one"),
    ([*WP0, "--normalise", "l1"], "normalise 'l1' would break a fixed weight"),
    ([*WP0, "--scale-together", "WP0,TM0_1"], "WP0 is in scale-together"),
]


@pytest.mark.parametrize(("options", "said"), AT_ONCE)
def test_refused_at_once(
    refused: Refused, base: list[object], options: list[str], said: str, tmp_path: Path
) -> None:
    # Nothing was read yet: it does not even matter that there are no candidates.
    (tmp_path / "tune.ref").unlink()
    missing = ["tune", "--candidates", "missing.nbest", *base[3:]]
    assert said in refused(*missing, "--out", "w.json", *options)


@pytest.mark.parametrize(("options", "said"), LATER)
def test_refused_for_the_features(
    refused: Refused, base: list[object], options: list[str], said: str
) -> None:
    assert said in refused(*base, "--out", "w.json", *options)


def test_refused_names_of_a_held_out_set(
    refused: Refused, base: list[object], lists: Path, refs: Path
) -> None:
    # There is no weights file to name in it.
    test = ["--test-candidates", lists, "--test-references", refs]
    assert refused(*base, "--strict", *test).startswith("test set: no weight has the name of a")
    said = refused(*base, "--start", "start.json", "--strict", *test)
    assert said.startswith("start.json: 9 features without a weight")
