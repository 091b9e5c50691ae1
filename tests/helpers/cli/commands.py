"""What the tests of the command line share: making small lists, reading results another way."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sacrebleu.metrics

from tests.helpers.waiting import PATIENCE

PREFIX = "tunesmith: error: "

#: Two groups; g > 0 and f < 0 chooses the references themselves.
LISTS = """\
0 ||| a b c d e ||| f= 1 g= 2 ||| 0
0 ||| a b x d ||| f= 2 g= 1 ||| 0
1 ||| k l m n ||| f= 0 g= 3 ||| 0
1 ||| k l m x o ||| f= 1.5 g= 0.5 ||| 0
"""
REFERENCES = "a b c d e\nk l m n\n"


@dataclass(frozen=True)
class Outcome:
    """What a command line did."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    def lines(self) -> list[str]:
        """Lines of standard output; white space of other kinds than line feeds ends none."""
        assert self.code == 0, self.err
        assert self.out.endswith("\n")
        return self.out.split("\n")[:-1]


#: What the fixture ``cli`` is: a function that runs a command line.
Run = Callable[..., Outcome]


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the interpreter of the tests in a process of its own."""
    options.setdefault("capture_output", True)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=False,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        **options,
    )


def files_below(folder: Path) -> dict[str, bytes | None]:
    """Return all in a folder but what Python keeps there: bytes of files, None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str | None]], **options: Any
) -> Any:
    """Score with sacrebleu; ``references`` is one list per reference."""
    metric = sacrebleu.metrics.BLEU(force=True, **{"tokenize": "none", **options})
    return metric.corpus_score(list(hypotheses), [list(r) for r in references])


@dataclass(frozen=True)
class Candidate:
    """A line of a Moses list, as read by the few lines below."""

    group: int
    text: str
    features: dict[str, float]


def parse_moses(lines: Iterable[str]) -> list[Candidate]:
    """Read a Moses list the slow and simple way."""
    found = []
    for line in lines:
        group, text, features = (field.strip() for field in line.split("|||")[:3])
        values: dict[str, list[float]] = {}
        name = ""
        for part in features.split():
            if "=" in part:
                name, _, part = part.rpartition("=")  # noqa: PLW2901
                values[name] = []
            if part:
                values[name].append(float(part))
        named = {
            name if len(held) == 1 else f"{name}_{k}": value
            for name, held in values.items()
            for k, value in enumerate(held, 1)
        }
        found.append(Candidate(int(group), " ".join(text.split()), named))
    return found


def by_group(candidates: Iterable[Candidate]) -> dict[int, list[Candidate]]:
    """Return the candidates of each group as they stand, groups in the order of their ids."""
    groups: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.group, []).append(candidate)
    return dict(sorted(groups.items()))


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Drop candidates that repeat an earlier one's group, text and features."""
    kept: dict[tuple[Any, ...], Candidate] = {}
    for c in candidates:
        kept.setdefault((c.group, c.text, *sorted(c.features.items())), c)
    return list(kept.values())


def model_score(candidate: Candidate, weights: dict[str, float]) -> float:
    """Return w·h."""
    return sum(weights.get(name, 0.0) * value for name, value in candidate.features.items())


def parse_weights(text: str) -> dict[str, float]:
    """Read lines ``Name= v v``; names with several values are numbered."""
    values: dict[str, list[float]] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition("=")
            values.setdefault(name.strip(), []).extend(map(float, rest.split()))
    return {
        name if len(held) == 1 else f"{name}_{k}": value
        for name, held in values.items()
        for k, value in enumerate(held, 1)
    }


def random_lists(seed: int, groups: int = 12, size: int = 8) -> tuple[list[str], list[str]]:
    """Make a Moses list with dense and sparse features, and its references."""
    rng = random.Random(seed)
    words = [f"w{k}" for k in range(30)]
    lines, references = [], []
    for g in range(groups):
        reference = rng.choices(words, k=rng.randint(6, 12))
        references.append(" ".join(reference))
        for _ in range(size):
            noise = rng.random() * 0.6
            text = [rng.choice(words) if rng.random() < noise else w for w in reference]
            text = text[: len(text) - rng.randint(0, 2)]
            dense = [rng.gauss(-3 * noise, 1), rng.gauss(0, 2), -float(len(text))]
            features = f"TM0= {dense[0]!r} {dense[1]:.4f} WP0= {dense[2]:g}"
            fired = rng.sample(range(9), rng.randint(0, 3))
            features += "".join(f" s_{k}={rng.gauss(-noise, 0.5):.3f}" for k in fired)
            lines.append(f"{g} ||| {' '.join(text)} ||| {features} ||| {sum(dense):.3f}")
    return lines, references
