"""Damaged files: whatever is wrong with them is told in one line, or they are read rightly."""

from __future__ import annotations

import itertools
import random
import traceback
from pathlib import Path

from fuzz.files.examples import number_of, write_example
from fuzz.files.made import made_seeds
from fuzz.files.plain import compare
from fuzz.files.readers import read_seed
from fuzz.files.seeds import TEXT_SEEDS, Seed
from fuzz.mutation import compressed, mutated
from fuzz.part import ACCEPTED, FOUND, REFUSED, Outcome, generator
from fuzz.scratch import folder
from fuzz.worker import described
from tunesmith.errors import TunesmithError, one_line
from tunesmith.parallel import local

#: Characters of a file that a find shows.
SHOWN = 4000


class Files:
    """Files of all formats, damaged."""

    limit = 20.0
    patience = 120.0

    def prepare(self) -> None:
        """Make all seeds and read each as it is."""
        local.threads(1).__enter__()  # for good
        self.seeds: list[Seed] = [*TEXT_SEEDS, *made_seeds()]
        self._drawn = list(itertools.accumulate(seed.weight for seed in self.seeds))
        self.place = folder("files")
        self._held: dict[str, bytes] = {}
        for seed in self.seeds:
            found = self.tried(seed, dict(seed.files))
            if found.verdict != ACCEPTED:
                raise RuntimeError(f"{seed.kind} is not read as it is: {found}")

    def size(self) -> int | None:
        """Return None: there is no end."""
        return None

    def run(self, seed: int, index: int) -> Outcome:
        """Damage a file and read it."""
        chosen, files = self.input(generator(seed, "files", index))
        return self.tried(chosen, files)

    def keep(self, seed: int, index: int, path: Path) -> None:
        """Write an input as an example."""
        chosen, files = self.input(generator(seed, "files", index))
        write_example(path, number_of(chosen, self.seeds), chosen, files)

    def input(self, rng: random.Random) -> tuple[Seed, dict[str, bytes]]:
        """Draw a seed, and return its files with one of them damaged."""
        chosen = rng.choices(self.seeds, cum_weights=self._drawn)[0]
        files = dict(chosen.files)
        name = rng.choice(list(files))
        is_text = chosen.is_text or name.endswith(".json")
        if rng.random() < 0.02:
            files[name] = compressed(rng, files[name])
        else:
            files[name] = mutated(rng, files[name], is_text and not name.endswith(".arrow"))
        return chosen, files

    def tried(self, seed: Seed, files: dict[str, bytes]) -> Outcome:
        """Read files, and check what comes of it."""
        place = self._put(seed, files)
        try:
            found = read_seed(place, seed)
        except TunesmithError as error:
            problem = _wrong_message(str(error), place, seed)
            if problem is None:
                return Outcome(seed.kind, REFUSED)
            return Outcome(seed.kind, FOUND, problem, _shown(seed, files))
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a find)
            detail = f"{traceback.format_exc()}\n{_shown(seed, files)}"
            return Outcome(seed.kind, FOUND, _told(error), detail)
        problem = compare(seed, files, found)
        if problem is None:
            return Outcome(seed.kind, ACCEPTED)
        return Outcome(
            seed.kind, FOUND, problem.partition(":")[0], f"{problem}\n{_shown(seed, files)}"
        )

    def _put(self, seed: Seed, files: dict[str, bytes]) -> Path:
        """Write files to a folder; where nothing else is written to it, one may stay."""
        if seed.reader in {"resumed", "work_directory", "model"}:
            place = folder("damaged")
        else:
            place = self.place / f"{seed.kind.replace(' ', '-')}-{len(files)}"
            place.mkdir(exist_ok=True)
        for name, data in files.items():
            path = place / name
            if "/" in name:
                path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb", buffering=0) as file:
                file.write(data)
        return place


def _told(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error)
    return described(error)


def _wrong_message(message: str, place: Path, seed: Seed) -> str | None:
    """Return what is wrong with the message of an error."""
    if not one_line(message).isprintable():
        return "the message cannot be printed as one line"
    if str(place) not in message and not any(name in message for name in seed.files):
        return f"the message names no file: {message[:60]}"
    return None


def _shown(seed: Seed, files: dict[str, bytes]) -> str:
    """Return what was changed."""
    lines = []
    for name, data in files.items():
        if data != seed.files[name]:
            lines.append(f"{name}: {data[:SHOWN]!r}")
    return "\n".join(lines)
