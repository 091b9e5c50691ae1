"""``tune --sharded``: the same as without, and one line for what cannot be done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.cli.commands import Run
from tests.helpers.inference.parts import write_parts

MERT = ["--tuner", "mert", "--restarts", "1", "--walks", "0"]
TWO = ["--sharded", "--engine", "processes", "--workers", "2"]
#: What a result says of the run itself.
OF_THE_RUN = {"seconds", "inputs", "command", "date", "engine", "workers", "warnings", "run"}


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, list[str], str]:
    """Return a folder with parts, the parts, and references."""
    paths, references = write_parts(tmp_path / "parts", np.random.default_rng(4), groups=12)
    moved = tmp_path / "references"
    Path(references).rename(moved)
    return tmp_path / "parts", paths, str(moved)


@pytest.mark.long
def test_a_folder_of_parts_is_tuned_as_its_files_are(cli: Run, parts) -> None:
    folder, paths, references = parts
    common = ["--references", references, *MERT, "--json", "--quiet"]
    sharded = cli("tune", "--candidates", folder, *TWO, *common)
    files = [argument for path in paths for argument in ("--candidates", path)]
    whole = cli("tune", *files, *common)
    assert sharded.code == whole.code == 0, sharded.err
    ours, theirs = (
        {key: value for key, value in outcome.json().items() if key not in OF_THE_RUN}
        for outcome in (whole, sharded)
    )
    assert theirs == ours
    assert sharded.json()["engine"] == "processes"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "auto looks at whole lists"),
        (["--tuner", "batch-mira"], "use --tuner mert or pro"),
        (["--tuner", "mert", "--directions", "gradient"], "no gradients"),
        ([*MERT, "--folds", "2"], "--folds needs all lists in one place"),
        ([*MERT, "--hold-out", "20%"], "--hold-out needs all lists"),
        ([*MERT, "--lenpen", "D0_1"], "--lenpen needs all lists"),
        ([*MERT, "--scores", "a=b"], "--scores needs all lists"),
        ([*MERT, "--feature", "length"], "--feature needs all lists"),
        ([*MERT, "--missing", "mean"], "--missing mean looks at all values"),
        ([*MERT, "--candidates", "-"], "standard input has no parts"),
    ],
)
def test_what_needs_whole_lists_is_refused(options, said, refused, parts) -> None:
    folder, _, references = parts
    arguments = ["--candidates", folder, "--references", references]
    assert said in refused("tune", *arguments, *TWO, *options)


def test_shards_are_for_workers(refused, parts) -> None:
    folder, _, references = parts
    arguments = ["--candidates", folder, "--references", references, *MERT, "--sharded"]
    assert "give --engine processes or ray" in refused("tune", *arguments)
    assert "--sharded is of lists" in refused("tune", *TWO, *MERT, "--forests", folder)


@pytest.mark.long
def test_what_is_wrong_in_a_part_is_told_by_its_name(refused, parts) -> None:
    folder, paths, references = parts
    arguments = ["tune", "--candidates", folder, "--references", references, *TWO, *MERT]
    Path(paths[1]).write_text("7 ||| a b ||| D0= 1 2 x ||| 0\n")
    assert "part-1.nbest:1: " in refused(*arguments)
    Path(paths[1]).unlink()
    gone = [*arguments, "--candidates", paths[1]]
    assert "part-1.nbest: no such file" in refused(*gone)
