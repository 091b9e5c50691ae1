"""An engine for tests: all goes through pickle, answers come in any order, and actors are lost."""

from __future__ import annotations

import pickle
import random

from tunesmith.parallel.engine import Actors, Answer, Engine, Lost, working_on


def sent(thing):
    """Return what arrives of something that is sent to another process."""
    return pickle.loads(pickle.dumps(thing))


class Fragile(Engine):
    """Loses so many of 100 answers; who is ready next is drawn, slow ones if nobody else is."""

    name = "fragile"
    workers = 3

    def __init__(self, seed=0, losses=0, slow=(), deadly=None):
        self.random = random.Random(seed)
        self.losses, self.slow = losses, slow
        self.deadly, self.most_in_a_row = deadly, 2
        self.lost = 0
        self.calls, self.answers = [], []
        self.closed = 0
        self._sent = {}

    def map(self, work, data, pieces, *common, results=None):
        with working_on(None):
            return [sent(work(data, sent(piece), *sent(common))) for piece in pieces]

    def actors(self, make, data, seeds):
        return FragileActors(self, make, tuple(map(self.arrived, data)), seeds)

    def arrived(self, part):
        """Return what arrives of a part of the data, which is sent once."""
        if id(part) not in self._sent:
            self._sent[id(part)] = part, sent(part)
        return self._sent[id(part)][1]


class FragileActors(Actors):
    """The k-th lives with worker k modulo 3, and is lost with it."""

    def __init__(self, engine, make, data, seeds):
        self.engine, self.make, self.data = engine, make, data
        self.held = [make(data, sent(seed)) for seed in seeds]
        self.owed = {}
        self.in_a_row = [0] * len(seeds)

    def __len__(self):
        return len(self.held)

    def call(self, actor, method, *arguments):
        assert actor not in self.owed, "an actor that owes an answer is asked again"
        self.owed[actor] = method, sent(arguments)
        self.engine.calls.append((actor, arguments))

    def wait(self):
        ready = [k for k in self.owed if k not in self.engine.slow] or list(self.owed)
        actor = self.engine.random.choice(ready)
        method, arguments = self.owed.pop(actor)
        if self.held[actor] is not None:
            with working_on(None):
                answer = sent(getattr(self.held[actor], method)(*arguments))
            if self.is_well(actor, arguments[0]):
                self.in_a_row[actor] = 0
                self.engine.answers.append((actor, answer))
                return Answer(actor, answer)
            # What they have learnt meanwhile is gone with them.
            for k in range(actor % self.engine.workers, len(self), self.engine.workers):
                self.held[k] = None
        self.in_a_row[actor] += 1
        self.engine.lost += 1
        return Lost(actor, "its worker has died")

    def is_well(self, actor, groups):
        if self.engine.deadly in groups:
            return False
        is_spared = self.in_a_row[actor] >= self.engine.most_in_a_row
        return is_spared or self.engine.random.randrange(100) >= self.engine.losses

    def ignore_answers(self):
        self.owed.clear()

    def replace(self, actor, seed):
        assert self.held[actor] is None
        self.held[actor] = self.make(self.data, sent(seed))

    def close(self):
        self.engine.closed += 1
