"""``tunesmith tune``: its JSON, its files, the same bits again."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import (
    LISTS,
    REFERENCES,
    Run,
    bleu,
    by_group,
    distinct,
    files_below,
    model_score,
    parse_moses,
    parse_weights,
    python,
    random_lists,
)
from tests.helpers.waiting import PATIENCE

Make = Callable[[str, str | bytes], Path]

#: What may differ between two runs that are the same.
INCIDENTAL = {"seconds", "threads", "data", "inputs"}
NAMES = [
    *(f"LexicalReordering0_{k}" for k in range(1, 7)),
    "Distortion0",
    "LM0",
    "WordPenalty0",
    "PhrasePenalty0",
    *(f"TranslationModel0_{k}" for k in range(1, 5)),
]


def essence(found: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same, to the bit, whatever the threads and files."""
    return {key: value for key, value in found.items() if key not in INCIDENTAL}


@pytest.fixture
def tune(cli: Run) -> Callable[..., dict[str, Any]]:
    """Tune on candidates and references, and return the JSON object."""

    def run(
        candidates: object, references: object, *options: object, restarts: int = 2
    ) -> dict[str, Any]:
        arguments: list[object] = ["tune", "--json", "--restarts", restarts]
        for path in candidates if isinstance(candidates, Sequence) else [candidates]:
            arguments += ["--candidates", path]
        for path in references if isinstance(references, Sequence) else [references]:
            arguments += ["--references", path]
        return cli(*arguments, *options).json()

    return run


Tune = Callable[..., dict[str, Any]]


@pytest.fixture
def mixed(make: Make) -> tuple[Path, Path]:
    """Lists with dense and sparse features, and their references."""
    lines, references = random_lists(5)
    return make("mixed", "\n".join(lines) + "\n"), make("mixed.refs", "\n".join(references) + "\n")


# The object


@pytest.mark.long
def test_object(tune: Tune, cli: Run, bundled: Path, tmp_path: Path) -> None:
    start, out = bundled / "weights.initial", tmp_path / "result.json"
    files = {name: bundled / name for name in ("tune.nbest.gz", "tune.ref")}
    options = ["--start", start, "--seed", 3, "--threads", 2, "--history", "--out", out]
    found = tune(*files.values(), *options, restarts=12)

    assert json.loads(out.read_text(encoding="utf-8")) == found
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]

    assert found["schema"] == "tunesmith.tune/1"
    assert isinstance(found["signature"], str)
    assert found["tuner"] == "mert"
    assert found["metric"] == "bleu"
    assert found["dev"] is None
    assert found["path"] is None
    assert found["certificate"] is None
    assert found["oracle_exact"] is False
    assert found["seed"] == 3
    assert found["threads"] == 2
    assert found["warnings"] == []
    assert type(found["line_searches"]) is int
    assert found["line_searches"] > len(NAMES)
    assert type(found["seconds"]) is float
    assert found["seconds"] > 0
    assert list(found["weights"]) == NAMES
    assert all(type(value) is float for value in found["weights"].values())
    for entry in found["data"]:
        path = Path(entry["path"])
        assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert {entry["path"] for entry in found["data"]} >= {str(path) for path in files.values()}

    assert [entry["step"] for entry in found["history"]] == list(range(len(found["history"])))
    assert all(type(entry["score"]) is float for entry in found["history"])

    references = files["tune.ref"].read_text(encoding="utf-8").split("\n")[:-1]
    chosen = {}
    for name, held in (("initial", start), ("tuned", out)):
        arguments = ["--candidates", files["tune.nbest.gz"], "--weights", held]
        chosen[name] = bleu(cli("rerank", *arguments).lines(), [references])
    assert found["score"] == pytest.approx(chosen["tuned"].score, rel=0, abs=1e-9)
    assert found["initial_score"] == pytest.approx(chosen["initial"].score, rel=0, abs=1e-9)
    ratio = chosen["tuned"].sys_len / chosen["tuned"].ref_len
    assert found["length_ratio"] == pytest.approx(ratio, rel=0, abs=1e-12)
    assert found["history"][0]["score"] == pytest.approx(found["initial_score"], abs=1e-9)
    best = max(entry["score"] for entry in found["history"])
    assert found["score"] == pytest.approx(best, rel=0, abs=1e-9)
    # Moses' own weights for these lists are no oracle to us, but we are not to do worse.
    final = parse_weights((bundled / "weights.final").read_text())
    with gzip.open(files["tune.nbest.gz"], "rt", encoding="utf-8") as lists:
        groups = by_group(parse_moses(lists))
    theirs = [max(group, key=lambda c: model_score(c, final)).text for group in groups.values()]
    assert found["initial_score"] < bleu(theirs, [references]).score < found["score"]
    assert found["score"] < found["oracle_score"] < 100


@pytest.mark.long
def test_without_a_start(tune: Tune, cli: Run, mixed: tuple[Path, Path], make: Make) -> None:
    found = tune(*mixed)
    references = mixed[1].read_text().splitlines()
    for key, weights in (("score", "weights"), ("initial_score", "start")):
        held = make("held.json", json.dumps(found[weights]))
        lines = cli("rerank", "--candidates", mixed[0], "--weights", held).lines()
        assert found[key] == pytest.approx(bleu(lines, [references]).score, rel=0, abs=1e-9)


def test_several_references(tune: Tune, cli: Run, mixed: tuple[Path, Path], make: Make) -> None:
    first = mixed[1].read_text().splitlines()
    second = [" ".join(reversed(line.split()[1:])) for line in first]
    other = make("other.refs", "\n".join(second) + "\n")
    found = tune(mixed[0], [mixed[1], other])
    held = make("held.json", json.dumps(found["weights"]))
    lines = cli("rerank", "--candidates", mixed[0], "--weights", held).lines()
    assert found["score"] == pytest.approx(bleu(lines, [first, second]).score, rel=0, abs=1e-9)


def test_text(cli: Run, lists: Path, refs: Path) -> None:
    found = cli("tune", "--candidates", lists, "--references", refs, "--restarts", 0)
    assert found.code == 0
    assert found.err == ""
    assert "100.00" in found.out
    assert "\x1b" not in found.out


@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_best_of_all_weights_of_two_features(
    tune: Tune, make: Make, directions: str, seed: int
) -> None:
    """Turn the weights once around: between two angles at which candidates tie, nothing changes."""
    lines, references = random_lists(seed, groups=4, size=4)
    groups = by_group(parse_moses(lines))
    kept = []
    for g, group in groups.items():
        for c in group:
            f, g_value = c.features["TM0_1"], c.features["TM0_2"]
            kept.append(f"{g} ||| {c.text} ||| f= {f!r} g= {g_value!r}")
    groups = by_group(parse_moses(kept))
    angles = []
    for group in groups.values():
        for a, b in itertools.combinations(group, 2):
            f, g_value = (a.features[n] - b.features[n] for n in ("f", "g"))
            angles += [math.atan2(-f, g_value) % math.tau, math.atan2(f, -g_value) % math.tau]
    angles.sort()
    best = 0.0
    for low, high in zip(angles, [*angles[1:], angles[0] + math.tau], strict=True):
        held = {"f": math.cos((low + high) / 2), "g": math.sin((low + high) / 2)}
        texts = [max(group, key=lambda c: model_score(c, held)).text for group in groups.values()]
        best = max(best, bleu(texts, [references]).score)
    paths = make("two", "\n".join(kept)), make("two.refs", "\n".join(references))
    found = tune(*paths, "--directions", directions, restarts=20)
    assert found["score"] == pytest.approx(best, rel=0, abs=1e-9)


def test_empty_hypotheses_are_legal(tune: Tune, make: Make) -> None:
    lines = ["0 ||| ||| f= 1 ||| 0", "0 ||| a b c d ||| f= 0 ||| 0", "1 |||  ||| f= 0.5 ||| 0"]
    found = tune(make("lists", "\n".join(lines)), make("refs", "a b c d\nk l\n"), restarts=0)
    assert found["score"] == pytest.approx(bleu(["a b c d", ""], [["a b c d", "k l"]]).score)
    assert found["initial_score"] == 0
    assert found["weights"]["f"] < 0


def test_one_candidate_a_group_cannot_be_tuned_but_is_scored(tune: Tune, make: Make) -> None:
    lists = make("lists", "0 ||| a b c d ||| f= 1\n1 ||| k l x n ||| f= 2\n")
    found = tune(lists, make("refs", "a b c d\nk l m n\n"), restarts=1)
    wanted = bleu(["a b c d", "k l x n"], [["a b c d", "k l m n"]]).score
    assert found["score"] == pytest.approx(wanted, rel=0, abs=1e-9)
    assert found["oracle_score"] == pytest.approx(wanted, rel=0, abs=1e-9)


# The same bits


def test_threads_change_nothing(tune: Tune, bundled: Path) -> None:
    paths = bundled / "tune.nbest.gz", bundled / "tune.ref"
    options = ["--start", bundled / "weights.initial", "--seed", 7]
    one = tune(*paths, *options, "--threads", 1, restarts=6)
    two = tune(*paths, *options, "--threads", 2, restarts=6)
    assert (one["threads"], two["threads"]) == (1, 2)
    assert essence(one) == essence(two)
    assert one["data"] == two["data"]


@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_threads_change_nothing_with_sparse_features(
    tune: Tune, mixed: tuple[Path, Path], directions: str
) -> None:
    found = [
        essence(tune(*mixed, "--directions", directions, "--threads", n, restarts=5))
        for n in (1, 2, 3)
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.long
def test_processes_change_nothing(tune: Tune, mixed: tuple[Path, Path]) -> None:
    arguments = ["--candidates", mixed[0], "--references", mixed[1], "--json", "--restarts", 2]
    found = python("-m", "tunesmith", "tune", *arguments)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert essence(json.loads(found.stdout)) == essence(tune(*mixed))


def test_seed_changes_something(tune: Tune, bundled: Path) -> None:
    paths = bundled / "tune.nbest.gz", bundled / "tune.ref"
    found = [tune(*paths, "--seed", seed) for seed in (1, 2, 1)]
    assert essence(found[0]) == essence(found[2])
    assert found[0]["weights"] != found[1]["weights"]


def split_by_line(lines: list[str]) -> list[list[str]]:
    """Cut in the middle of a group."""
    return [lines[: len(lines) // 2 + 3], lines[len(lines) // 2 + 3 :]]


def split_every_group(lines: list[str]) -> list[list[str]]:
    """Give the beginning of every group to one file and its end to another."""
    groups = [list(g) for _, g in itertools.groupby(lines, lambda line: line.split(" ", 1)[0])]
    return [
        [line for g in groups for line in g[: len(g) // 3]],
        [line for g in groups for line in g[len(g) // 3 :]],
    ]


def interleave(lines: list[str]) -> list[list[str]]:
    """Take a line of each group in turn."""
    groups = [list(g) for _, g in itertools.groupby(lines, lambda line: line.split(" ", 1)[0])]
    turns = itertools.zip_longest(*groups)
    return [[line for turn in turns for line in turn if line is not None]]


def interleave_and_split(lines: list[str]) -> list[list[str]]:
    """Do both."""
    return split_by_line(interleave(lines)[0])


def give_twice(lines: list[str]) -> list[list[str]]:
    """Repeat everything; a candidate that was there before does not count."""
    return [lines, lines]


@pytest.mark.long
@pytest.mark.parametrize(
    "way", [split_by_line, split_every_group, interleave, interleave_and_split, give_twice]
)
def test_files_change_nothing(
    tune: Tune, bundled: Path, make: Make, way: Callable[[list[str]], list[list[str]]]
) -> None:
    with gzip.open(bundled / "tune.nbest.gz", "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]
    options = [bundled / "tune.ref", "--start", bundled / "weights.initial"]
    whole = tune(bundled / "tune.nbest.gz", *options)
    parts = []
    for k, part in enumerate(way(lines)):
        assert part
        text = "\n".join(part).encode()
        parts.append(make(f"part{k}", text if k else gzip.compress(text)))
    split = tune(parts, *options)
    assert essence(split) == essence(whole)
    assert len(split["data"]) == len(parts) + 1


def test_files_change_nothing_with_sparse_features(
    tune: Tune, mixed: tuple[Path, Path], make: Make
) -> None:
    whole = tune(*mixed)
    lines = mixed[0].read_text().splitlines()
    for cut in (1, 13, 48, len(lines) - 1):
        parts = make("a", "\n".join(lines[:cut]) + "\n"), make("b", "\n".join(lines[cut:]) + "\n")
        assert essence(tune(parts, mixed[1])) == essence(whole)


def test_json_lines_change_nothing(tune: Tune, mixed: tuple[Path, Path], make: Make) -> None:
    references = mixed[1].read_text().splitlines()
    groups = by_group(parse_moses(mixed[0].read_text().splitlines()))
    lines = [
        json.dumps(
            {
                "id": g,
                "references": [references[g]],
                "candidates": [{"text": c.text, "features": c.features} for c in group],
            }
        )
        for g, group in groups.items()
    ]
    path = make("mixed.jsonl", "\n".join(lines) + "\n")
    assert essence(tune(path, ())) == essence(tune(*mixed))


# Weights files


@pytest.mark.long
def test_moses_weights_are_written_back(
    tune: Tune, cli: Run, bundled: Path, make: Make, tmp_path: Path
) -> None:
    text = "# from an earlier run\n\n" + (bundled / "weights.initial").read_text()
    start, out = make("start", text), make("out", "something old")
    paths = bundled / "tune.nbest.gz", bundled / "tune.ref"
    found = tune(*paths, "--start", start, "--out", out)
    written = out.read_text().splitlines()
    wanted = text.splitlines()
    assert len(written) == len(wanted)
    assert written[:2] == wanted[:2]
    assert [x.split("=")[0] for x in written[2:]] == [x.split("=")[0] for x in wanted[2:]]
    assert parse_weights(out.read_text()) == found["weights"]
    assert start.read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "start"]
    arguments = ["--candidates", paths[0], "--references", paths[1], "--weights", out]
    assert cli("evaluate", *arguments, "--json").json()["score"] == found["score"]


INI = """\
# a comment with f= 7 in it
[input-factors]
0

[feature]
KENLM name=f factor=0 path=lm order=5
Model name=tm num-features=2

[weight]
f= 0.5
# tm stands on one line
tm= 0.25 -0.125

unused= 3.0000
[threads]
4
[other]
f= 7
"""


@pytest.fixture
def ini_lists(make: Make) -> tuple[Path, Path]:
    """Lists with the features of INI."""
    lines = [
        "0 ||| a b c d ||| f= 1 tm= 0 2 ||| 0",
        "0 ||| a b x d ||| f= 2 tm= 1 1 ||| 0",
        "1 ||| k l m n ||| f= 0 tm= 3 0.5 ||| 0",
        "1 ||| k l x y ||| f= 3 tm= 1 0.25 ||| 0",
    ]
    return make("lists", "\n".join(lines) + "\n"), make("refs", "a b c d\nk l m n\n")


def test_moses_ini_is_written_back(
    tune: Tune, ini_lists: tuple[Path, Path], make: Make, tmp_path: Path
) -> None:
    start, out = make("moses.ini", INI), tmp_path / "tuned.ini"
    found = tune(*ini_lists, "--start", start, "--out", out)
    before, after = INI.split("\n"), out.read_text().split("\n")
    assert len(after) == len(before)
    changed = [k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    weights_at = [before.index("f= 0.5"), before.index("tm= 0.25 -0.125")]
    assert set(changed) <= {*weights_at, before.index("unused= 3.0000")}
    assert set(changed) & set(weights_at)
    section = "\n".join(after[before.index("[weight]") + 1 : before.index("[threads]")])
    assert parse_weights(section) == found["weights"]
    assert found["weights"]["unused"] == 3
    assert found["score"] == pytest.approx(100, abs=1e-9)

    again = tune(*ini_lists, "--start", out, restarts=0)
    assert again["start"] == found["weights"]
    assert again["initial_score"] == found["score"]


def test_moses_ini_over_itself(
    tune: Tune, cli: Run, ini_lists: tuple[Path, Path], make: Make
) -> None:
    path = make("moses.ini", INI)
    path.chmod(0o640)
    found = tune(*ini_lists, "--start", path, "--out", path)
    assert path.stat().st_mode & 0o777 == 0o640
    arguments = ["--candidates", ini_lists[0], "--references", ini_lists[1], "--weights", path]
    assert cli("evaluate", *arguments, "--json").json()["score"] == found["score"]


def test_moses_ini_with_windows_line_ends(
    tune: Tune, ini_lists: tuple[Path, Path], make: Make, tmp_path: Path
) -> None:
    start, out = make("moses.ini", INI.replace("\n", "\r\n")), tmp_path / "tuned.ini"
    tune(*ini_lists, "--start", start, "--out", out)
    before, after = start.read_bytes().split(b"\n"), out.read_bytes().split(b"\n")
    outside = [k for k, line in enumerate(before) if b"=" not in line or b"name=" in line]
    assert [after[k] for k in outside] == [before[k] for k in outside]


def test_moses_ini_with_a_comment_behind_a_weight(
    tune: Tune, ini_lists: tuple[Path, Path], make: Make
) -> None:
    """Moses itself ignores what follows # on a line."""
    plain = make("plain.ini", INI)
    noted = make("noted.ini", INI.replace("f= 0.5\n", "f= 0.5 # language model\n"))
    first, second = (tune(*ini_lists, "--start", path) for path in (plain, noted))
    assert second["start"] == first["start"]


def test_feature_that_the_moses_weights_lack_is_added(
    tune: Tune, ini_lists: tuple[Path, Path], make: Make, tmp_path: Path
) -> None:
    start, out = make("start", "f= 0.5\n"), tmp_path / "out"
    found = tune(*ini_lists, "--start", start, "--out", out)
    assert list(found["weights"]) == ["f", "tm_1", "tm_2"]
    assert parse_weights(out.read_text()) == found["weights"]
    assert tune(*ini_lists, "--start", out, restarts=0)["start"] == found["weights"]


def test_json_result_is_a_start(
    tune: Tune, mixed: tuple[Path, Path], tmp_path: Path, make: Make
) -> None:
    out = tmp_path / "result.json"
    found = tune(*mixed, "--out", out)
    again = tune(*mixed, "--start", out, restarts=0)
    assert again["initial_score"] == found["score"]
    assert again["start"] == found["weights"]
    simple = make("simple.json", json.dumps(found["weights"]))
    assert essence(tune(*mixed, "--start", simple, restarts=0)) == essence(again)


def test_moses_start_and_json_result(
    tune: Tune, ini_lists: tuple[Path, Path], make: Make, tmp_path: Path
) -> None:
    out = tmp_path / "result.json"
    found = tune(*ini_lists, "--start", make("moses.ini", INI), "--out", out)
    assert json.loads(out.read_text()) == found


def test_feature_without_a_weight_starts_at_0(
    cli: Run, lists: Path, refs: Path, make: Make
) -> None:
    start = make("start.json", '{"f": 1}')
    arguments = ["--candidates", lists, "--references", refs, "--start", start, "--json"]
    found = cli("tune", *arguments, "--restarts", 0)
    # f alone takes the second candidate of both groups.
    wanted = bleu(["a b x d", "k l m x o"], [REFERENCES.splitlines()]).score
    assert found.json()["initial_score"] == pytest.approx(wanted, rel=0, abs=1e-9)
    assert found.err.count("\n") == 1
    assert found.err.rstrip().endswith("g")


@pytest.mark.parametrize("form", ["json", "moses"])
def test_weight_without_a_feature_is_kept(
    cli: Run, lists: Path, refs: Path, make: Make, tmp_path: Path, form: str
) -> None:
    held = {"f": 1.0, "old": 0.1, "g": 2.0, "older": -0.30000000000000004}
    text = json.dumps(held) if form == "json" else "".join(f"{n}= {v}\n" for n, v in held.items())
    start, out = make("start", text), tmp_path / "out"
    arguments = ["--candidates", lists, "--references", refs, "--start", start, "--out", out]
    result = cli("tune", *arguments, "--restarts", 1, "--json")
    found = result.json()
    assert result.err.startswith("tunesmith: warning: ")
    assert result.err.count("\n") == 1
    assert "2 weights" in result.err
    assert found["warnings"] == [result.err.removeprefix("tunesmith: warning: ").rstrip("\n")]
    assert set(found["weights"]) == set(held)
    assert {n: found["weights"][n] for n in ("old", "older")} == {
        "old": 0.1,
        "older": held["older"],
    }
    written = out.read_text()
    back = json.loads(written)["weights"] if form == "json" else parse_weights(written)
    assert back == found["weights"]


# The development set


@pytest.mark.long
def test_dev_is_reported_and_has_no_influence(
    tune: Tune, cli: Run, bundled: Path, make: Make
) -> None:
    paths = bundled / "tune.nbest.gz", bundled / "tune.ref"
    start = ["--start", bundled / "weights.initial"]
    dev = ["--dev-candidates", bundled / "test.nbest.gz", "--dev-references", bundled / "test.ref"]
    alone, beside = tune(*paths, *start), tune(*paths, *start, *dev)
    said_of_dev = {"dev", "verdict"}
    without, usual = (
        {key: value for key, value in essence(found).items() if key not in said_of_dev}
        for found in (beside, alone)
    )
    assert without == usual
    assert alone["dev"] is None

    references = (bundled / "test.ref").read_text(encoding="utf-8").split("\n")[:-1]
    held = make("held.json", json.dumps(beside["weights"]))
    for key, weights in (("score", held), ("initial_score", bundled / "weights.initial")):
        arguments = ["--candidates", bundled / "test.nbest.gz", "--weights", weights]
        wanted = bleu(cli("rerank", *arguments).lines(), [references])
        assert beside["dev"][key] == pytest.approx(wanted.score, rel=0, abs=1e-9)
        if key == "score":
            ratio = wanted.sys_len / wanted.ref_len
            assert beside["dev"]["length_ratio"] == pytest.approx(ratio, rel=0, abs=1e-12)


def test_dev_with_other_features(tune: Tune, lists: Path, refs: Path, make: Make) -> None:
    dev = make("dev", "0 ||| a b c d ||| f= 0 h= 9\n0 ||| x ||| f= 1 h= 0\n")
    options = ["--dev-candidates", dev, "--dev-references", make("dev.refs", "a b c d\n")]
    start = make("start.json", '{"f": -1, "g": 1}')
    found = tune(lists, refs, "--start", start, *options, restarts=0)
    assert found["dev"]["initial_score"] == pytest.approx(100, abs=1e-9)


# Standard streams


def test_quiet(cli: Run, lists: Path, refs: Path, make: Make) -> None:
    start = make("start.json", '{"f": 1, "old": 2}')
    arguments = ["tune", "--candidates", lists, "--references", refs, "--start", start, "--json"]
    arguments += ["--tuner", "mert"]
    loud, quiet = cli(*arguments), cli(*arguments, "--quiet")
    assert loud.err != ""
    assert quiet.err == ""
    assert essence(quiet.json()) == essence(loud.json())


def test_verbose_says_more_on_standard_error_alone(cli: Run, lists: Path, refs: Path) -> None:
    arguments = ["tune", "--candidates", lists, "--references", refs, "--tuner", "mert", "--json"]
    plain, verbose = cli(*arguments), cli(*arguments, "--verbose")
    assert plain.err == ""
    assert "4 candidates" in verbose.err
    assert essence(verbose.json()) == essence(plain.json())


@pytest.mark.parametrize("packed", [False, True])
def test_candidates_from_standard_input(
    cli: Run, tune: Tune, mixed: tuple[Path, Path], packed: bool
) -> None:
    content = mixed[0].read_bytes()
    given = gzip.compress(content) if packed else content
    arguments = ["--candidates", "-", "--references", mixed[1], "--restarts", 2, "--json"]
    found = cli("tune", *arguments, stdin=given).json()
    assert essence(found) == essence(tune(*mixed))
    assert found["data"][0]["sha256"] == hashlib.sha256(given).hexdigest()


def test_references_and_start_from_standard_input(
    cli: Run, tune: Tune, mixed: tuple[Path, Path], make: Make
) -> None:
    start = make("start", "TM0= 1 1\nWP0= -1\n")
    whole = essence(tune(*mixed, "--start", start))
    given = {"--candidates": mixed[0], "--references": mixed[1], "--start": start}
    for option in ("--references", "--start"):
        pairs = [part for pair in {**given, option: "-"}.items() for part in pair]
        stdin = given[option].read_bytes()
        found = cli("tune", *pairs, "--restarts", 2, "--json", stdin=stdin).json()
        assert essence(found) == whole


@pytest.mark.long
def test_program_reads_standard_input(tune: Tune, lists: Path, refs: Path) -> None:
    arguments = ["--candidates", "-", "--references", refs, "--restarts", 2, "--json"]
    found = python("-m", "tunesmith", "tune", *arguments, input=LISTS)
    assert found.returncode == 0, found.stderr
    assert essence(json.loads(found.stdout)) == essence(tune(lists, refs))


def test_weights_to_standard_output(cli: Run, ini_lists: tuple[Path, Path], make: Make) -> None:
    start = make("moses.ini", INI)
    arguments = ["--candidates", ini_lists[0], "--references", ini_lists[1], "--start", start]
    found = cli("tune", *arguments, "--restarts", 0, "--out", "-")
    assert found.code == 0
    assert found.out.startswith(INI.partition("[weight]")[0])
    assert found.out.endswith(INI.partition("[threads]")[2])
    section = found.out.partition("[weight]")[2].partition("[threads]")[0]
    assert set(parse_weights(section)) == {"f", "tm_1", "tm_2", "unused"}


def test_standard_output_is_one_object(cli: Run, lists: Path, refs: Path) -> None:
    arguments = ["--candidates", lists, "--references", refs, "--restarts", 0]
    found = cli("tune", *arguments, "--out", "-", "--json")
    if found.code == 0:  # or refuse it
        assert json.loads(found.out)["schema"] == "tunesmith.tune/1"
    else:
        assert (found.code, found.out) == (2, "")


# Interruption


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.parametrize("existing", [True, False])
def test_interrupted(bundled: Path, tmp_path: Path, existing: bool) -> None:
    out = tmp_path / "result.json"
    if existing:
        out.write_text("as it was")
    before = files_below(tmp_path)
    arguments = ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref"]
    arguments += ["--restarts", "20000", "--verbose", "--json", "--out", out]
    with subprocess.Popen(
        [sys.executable, "-m", "tunesmith", "tune", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            # The note comes when everything is read and tuning begins.
            while "candidates" not in (line := process.stderr.readline()):
                assert line, "it ended before"
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            printed = process.stdout.read()
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
    # Whether a climb was complete by then, nobody can say.
    if printed:
        assert json.loads(printed)["interrupted"] is True
        assert json.loads(out.read_text())["interrupted"] is True
        assert f"are in {out}\n" in rest
    else:
        assert rest.endswith("tunesmith: interrupted\n")
        assert files_below(tmp_path) == before


def test_distinct_candidates_alone_count(tune: Tune, make: Make) -> None:
    """The statistics do not see a candidate that is given again further down."""
    lines, references = random_lists(11, groups=3, size=4)
    again = [*lines, *reversed(lines)]
    assert len(distinct(parse_moses(again))) == len(lines)
    refs = make("refs", "\n".join(references))
    once, twice = make("once", "\n".join(lines)), make("twice", "\n".join(again))
    assert essence(tune(twice, refs)) == essence(tune(once, refs))
