"""An engine in this process whose actors are lost again and again."""

from __future__ import annotations

from tunesmith.parallel.engine import Lost
from tunesmith.parallel.threads import ThreadActors, ThreadEngine


class LosingEngine(ThreadEngine):
    """Threads; with every n-th call the actor that is called is lost, and what it knew with it.

    Attributes
    ----------
    deadly
        A method with each call of which an actor is lost.
    lost
        How many were.
    """

    def __init__(self, every):
        self.every = every
        self.deadly = None
        self.lost = 0

    def actors(self, make, data, seeds):
        """Create the objects in this process."""
        return LosingActors(self, make, data, seeds)


class LosingActors(ThreadActors):
    """Objects of this process that are lost."""

    def __init__(self, engine, make, data, seeds):
        super().__init__(make, data, seeds, 1)
        self._engine = engine
        self._calls = 0

    def call(self, actor, method, *arguments):
        """Call a method, or lose the object."""
        self._calls += 1
        if self._calls % self._engine.every == 0 or method == self._engine.deadly:
            self._objects[actor] = None
            self._engine.lost += 1
        if self._objects[actor] is None:
            self._owing.add(actor)
            self._done.put((actor, Lost(actor, "its worker has died"), None))
        else:
            super().call(actor, method, *arguments)

    def wait(self):
        """Return the next answer, or the next loss."""
        answer = super().wait()
        return answer.value if isinstance(answer.value, Lost) else answer
