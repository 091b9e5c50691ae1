"""Shares seconds among the parts, and collects what became of their inputs."""

from __future__ import annotations

import select
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fuzz.part import FOUND, PARTS
from fuzz.slot import Death, Request, Slot, board_folder

#: What part of the seconds each part has.
SHARES = {"files": 0.46, "programs": 0.24, "faults": 0.2, "kills": 0.1}
#: Seconds on the clock after which an input is taken to hang.
PATIENCE = {"files": 120.0, "programs": 240.0, "faults": 600.0, "kills": 300.0}
#: About so many seconds a request takes.
REQUEST = 3.0
#: Seconds between two lines of progress.
PROGRESS = 30.0


@dataclass
class Tally:
    """What a part has done so far.

    Attributes
    ----------
    next
        The number of the next input that is new.
    again
        Inputs that were asked for and not tried, because a worker died.
    size
        How many there are; None if there is no end, or if it is not known yet.
    """

    share: float
    most: int | None = None
    next: int = 0
    size: int | None = None
    seconds: float = 0.0
    inputs: int = 0
    again: deque[tuple[int, int]] = field(default_factory=deque)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def left(self) -> int | None:
        """How many inputs there are still; None if there is no end."""
        ends = [end for end in (self.size, self.most) if end is not None]
        return max(0, min(ends) - self.next) if ends else None

    @property
    def is_done(self) -> bool:
        """Whether all inputs have been asked for."""
        return self.left == 0 and not self.again

    def piece(self) -> tuple[int, int]:
        """Take the next few inputs: the first, and how many."""
        if self.again:
            return self.again.popleft()
        speed = self.inputs / self.seconds if self.seconds else 0.0
        count = max(1, min(2000, int(REQUEST * speed)))
        if self.left is not None:
            count = min(count, self.left)
        first, self.next = self.next, self.next + count
        return first, count


class Campaign:
    """A run of all parts for some seconds, or for some inputs of each.

    Parameters
    ----------
    seed
        What all inputs follow from, with their numbers.
    seconds
        How long; None is until all inputs were tried.
    workers
        How many processes work.
    shares
        What part of the seconds each part has; parts that are left out are not run.
    inputs
        How many inputs a part has at most.
    """

    def __init__(
        self,
        seed: int,
        seconds: float | None,
        workers: int,
        shares: Mapping[str, float],
        inputs: Mapping[str, int],
    ) -> None:
        self.seed, self.seconds, self.workers = seed, seconds, workers
        self.tallies = {
            name: Tally(shares[name], inputs.get(name)) for name in PARTS if shares.get(name)
        }
        self.finds: list[dict[str, Any]] = []
        self.begun = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun

    def run(self) -> None:
        """Try inputs until the time is over."""
        told = 0.0
        with board_folder() as folder:
            slots = [Slot(folder, k) for k in range(self.workers)]
            try:
                while self._step(slots):
                    if self.elapsed - told >= PROGRESS:
                        told = self.elapsed
                        sys.stderr.write(self.progress() + "\n")
            finally:
                for slot in slots:
                    slot.close()

    def _step(self, slots: list[Slot]) -> bool:
        """Ask those who are idle, and take what others answer; tell whether to go on."""
        for slot in slots:
            if slot.request is None and (request := self._next(slots)) is not None:
                slot.ask(request)
        busy = {slot.descriptor: slot for slot in slots if slot.request is not None}
        if not busy:
            return False
        ready, _, _ = select.select(list(busy), [], [], 1.0)
        for descriptor in ready:
            request = busy[descriptor].request
            assert request is not None
            self._take(request, busy[descriptor].answer())
        for slot in slots:
            if (death := slot.overdue()) is not None:
                self._take(death.request, death)
        return True

    def _next(self, slots: list[Slot]) -> Request | None:
        """Choose the part that has had the least of its share."""
        if self.seconds is not None and self.elapsed >= self.seconds:
            return None
        asked = Counter(slot.request.part for slot in slots if slot.request is not None)
        open_parts = [name for name, tally in self.tallies.items() if not tally.is_done]
        # How many inputs there are is known from the first answer.
        known = [n for n in open_parts if self.tallies[n].inputs or not asked[n]] or open_parts
        if not known:
            return None

        def used(name: str) -> float:
            tally = self.tallies[name]
            return (tally.seconds + REQUEST * asked[name]) / tally.share

        name = min(known, key=used)
        first, count = self.tallies[name].piece()
        return Request(name, self.seed, first, count, PATIENCE[name])

    def _take(self, request: Request, answer: dict[str, Any] | Death) -> None:
        tally = self.tallies[request.part]
        if isinstance(answer, Death):
            self._bury(answer)
            return
        tally.seconds += answer["seconds"]
        tally.inputs += request.count
        tally.size = answer["size"]
        tally.counts.update(answer["counts"])
        for find in answer["finds"]:
            self._found(request.part, find)

    def _bury(self, death: Death) -> None:
        """Note what a worker died of, and have the other inputs of its request tried again."""
        request = death.request
        tally = self.tallies[request.part]
        end = request.first + request.count
        if death.index < 0:
            raise RuntimeError(f"a worker is not ready for {request.part}:\n{death.detail}")
        tally.inputs += 1
        tally.counts[f"?\t{FOUND}"] += 1
        for first, last in ((request.first, death.index), (death.index + 1, end)):
            if first < last:
                tally.again.append((first, last - first))
        find = {"index": death.index, "kind": "?", "problem": death.problem}
        self._found(request.part, {**find, "detail": death.detail})

    def _found(self, part: str, find: dict[str, Any]) -> None:
        replay = f"python -m fuzz --replay {part}:{self.seed}:{find['index']}"
        self.finds.append({"part": part, "seed": self.seed, "replay": replay, **find})
        sys.stderr.write(f"fuzz: find in {part}, {find['kind']}: {find['problem']}; {replay}\n")

    def progress(self) -> str:
        """Return a line that says how far the campaign is."""
        of = "" if self.seconds is None else f" of {self.seconds:.0f}"
        parts = [f"{name} {sum(t.counts.values())}" for name, t in self.tallies.items()]
        return f"fuzz: {self.elapsed:.0f}{of} s  {'  '.join(parts)}  finds {len(self.finds)}"
