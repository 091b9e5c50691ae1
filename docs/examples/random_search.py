"""A tuner of one's own: draw weights and keep the best."""

from dataclasses import dataclass

from tunesmith.inference.lists import ListHypotheses
from tunesmith.registry import option
from tunesmith.tuners.base import TUNERS, Outcome, Tuner


@TUNERS.register("random-search")
@dataclass(frozen=True)
class RandomSearch(Tuner):
    """Draw weights at random and keep the best."""

    draws: int = option(200, "weights to try")

    def tune(self, tuning, start, rng):
        """Return the weights found, in the order of the features."""
        lists = ListHypotheses(tuning)
        best = lists.point(self.own_start(tuning) if start is None else start)
        for _ in range(self.draws):
            # Each feature changes the model score by about as much.
            point = lists.point(rng.standard_normal(len(lists.names)) / lists.spread())
            best = max(best, point, key=lambda p: p.gain)  # more is better for error rates too
        return Outcome(best.weights)
