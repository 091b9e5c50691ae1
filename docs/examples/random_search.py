"""A tuner of your own: change the best weights at random, and keep what is better."""

from dataclasses import dataclass

from tunesmith.registry import option
from tunesmith.tuners.base import TUNERS, Outcome, Tuner


@TUNERS.register("random-search")
@dataclass(frozen=True)
class RandomSearch(Tuner):
    """Change the best weights at random, and keep what is better."""

    draws: int = option(200, "weights to try")

    def tune(self, tuning, start, rng):
        """Return the weights found, in the order of the features."""
        lists = tuning.hypotheses()
        spread = lists.spread()  # so that each feature changes the model score by as much
        best = lists.point(self.own_start(tuning) if start is None else start)
        for _ in range(self.draws):
            change = rng.standard_normal(len(spread)) / spread
            point = lists.point(best.weights + rng.exponential() * change)
            best = max(best, point, key=lambda p: p.gain)  # more is better, for error rates too
        return Outcome(best.weights)
