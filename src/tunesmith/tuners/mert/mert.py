"""Minimum error rate training (Och 2003), with exact line search.

Galley, Quirk, Cherry and Toutanova, "Regularized minimum error rate training" (EMNLP 2013):
section 2 describes the objective (equation 1) and the search, section 3 penalties, section 4
directions by gradient.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Hypotheses, TuningHypotheses
from tunesmith.inference.sharing import share_out
from tunesmith.interruption import Keeping, SoFar, check, keep, told_to, whole_or_nothing
from tunesmith.metrics.base import Metric
from tunesmith.progress import progress
from tunesmith.registry import option
from tunesmith.search.directions.base import DIRECTIONS, Climb, Directions
from tunesmith.search.directions.stopping import tolerance_on
from tunesmith.search.line.penalised import Penalty
from tunesmith.search.line.smooth import Smoothing
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS, Outcome, equal_weights, score_of
from tunesmith.tuners.fitting.constrained import Constrained
from tunesmith.tuners.fitting.remembering import Remembering, distinct
from tunesmith.tuners.fitting.stages import can_be_sent, settings_apart, timed
from tunesmith.tuners.mert.climbs import Climbs, End, around, climb_and_walk
from tunesmith.tuners.mert.regularised import Regularised, with_length_scale

#: Neighbours on each side that smoothing takes in, unless the user says how many.
WINDOW = 3
#: Restarts, and walks after each climb, unless the user says how many; and where a line search
#: takes long.
USUAL = {"restarts": 20, "walks": 2}
USUAL_IF_COSTLY = {"restarts": 4, "walks": 0}
#: Weights of earlier rounds of a loop from which it climbs too, at most.
EARLIER = 10
#: Restarts that set out together. Fixed, so that the result does not depend on the cores.
ROUND = 4
#: How far a restart begins from the best weights, at least and at most, relative to the weights.
RESTART_DISTANCE = (0.05, 1.0)
#: Derivations in the lists of a round on forests, in all: of a large set lists are shorter, as
#: they must not take more memory than it may.
MOST_LISTED = 100_000


@TUNERS.register("mert")
@dataclass(frozen=True)
class MERT(Constrained, Regularised, Remembering):
    """Minimum error rate training: exact line searches from many starting points.

    The line search stays exact with restrictions on weights and with penalties: it searches the
    part of a line that they allow, moves tied weights along one line, and knows where on each
    interval a penalty is least.

    With ``smoothing`` (Cer et al. 2008), a step is judged by the smoothed objective of the
    interval it leads to, compared with that of the current interval on the same line. The metric
    itself may fall: a plateau is worth more than a peak among bad neighbours. A step on one line
    may undo one on another, so a climb ends after a fixed number of steps at the latest. The ends
    of climbs are compared by their smoothed objective, averaged over the lines of all features.

    In a loop with a decoder, it also climbs from weights of earlier rounds: from the 10 that are
    best on the current lists, or only from the best if a climb is costly.

    On forests a line search is as exact as on lists, over all derivations, but takes far longer.
    So it first looks for a good starting point on lists, as a loop with a decoder would: it tunes
    on the best derivations of each forest, merges them with the best under the new weights, and
    tunes again. It also climbs from there, if that is better on the forests than the start. The
    result on the forests is therefore never worse than that of any of these rounds.
    """

    restarts: int | None = option(
        None,
        "climbs from other starting points after the first [default: 20, on forests 4, gradient 0]",
        least=0,
    )
    begin: Literal["near", "anywhere"] = option(
        "near",
        "where restarts begin: three in four near the best weights so far, the others anywhere "
        "(near); or all of them anywhere",
    )
    walks: int | None = option(
        None,
        "random walks away from each climb's end, each followed by a climb "
        "[default: 2, on forests 0, gradient 0]",
        least=0,
    )
    directions: str = option("coordinate", "lines to search: coordinate, powell, random, gradient")
    axes: bool = option(
        True,
        "search along axes of the features' covariance and restart along "
        "them, so that mixing or rescaling features makes no difference",
    )
    smoothing: Literal["none", "mean", "min"] = option(
        "none",
        "how an interval of a line is valued: by itself (none), or by the "
        "mean or min over its neighbours",
    )
    window: int = option(WINDOW, "neighbours on each side for smoothing")
    list_rounds: int = option(
        3,
        "on forests: rounds on lists of their best derivations, whose "
        "results are further starting points",
        least=0,
    )
    _core_prior: Weights | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._directions()
        if self.window != WINDOW and not self._smoothing():
            raise UsageError("window goes with smoothing; give --smoothing mean or min, or drop it")
        if self.sum_to_one and self.penalty != "none":
            raise UsageError(
                "a penalty is on weights of the scale that it likes, and sum-to-one has its own; "
                "drop one of them"
            )
        if self._smoothing() and self.penalty != "none":
            raise UsageError("smoothing and a penalty do not go together; drop one of them")

    def _smoothing(self) -> Smoothing:
        return Smoothing(self.smoothing, self.window)

    def _directions(self) -> Directions:
        return DIRECTIONS.create(self.directions)

    def _times(self, name: str, hypotheses: Hypotheses) -> int:
        """Return how often to climb; many features' gradient is followed once."""
        count: int | None = getattr(self, name)
        if count is not None:
            return count
        usual = USUAL_IF_COSTLY if hypotheses.is_costly else USUAL
        return 0 if self._directions().is_costly else usual[name]

    def short_form(self) -> MERT | None:
        """Return three climbs that begin near, each with one walk."""
        if self.penalty != "none" or self.smoothing != "none" or len(self.settings()) > 1:
            return None
        return dataclasses.replace(self, restarts=2, walks=1)

    takes_forests = True
    takes_rankings = True
    takes_shards = True
    uses_device = True

    def check_shards(self, is_sharded: bool) -> None:
        """Raise an error if parts of the lists are with workers, and gradients are asked for."""
        super().check_shards(is_sharded)
        if is_sharded and self._directions().needs_gradients:
            raise UsageError(
                "shards answer lines and points, and no gradients; use --directions coordinate, "
                "powell or random, or drop --sharded"
            )

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if the metric lacks what an option needs."""
        self._directions().check(metric)
        for scale in self.length_scale:
            with_length_scale(metric, scale)

    def space(self, names: tuple[str, ...], start: Floats) -> Space:
        """Return what the weights may be."""
        constraints = self.constraints().expanded(names)
        fixed_values = self.held(names, start, dict(constraints.fixed))
        fixed = constraints.fixed + tuple(fixed_values.items())
        return Space.of(names, start, dataclasses.replace(constraints, fixed=fixed))

    def baseline(self, tuning: Task) -> Floats:
        """Return the prior, where one is given, or equal weights."""
        if self.given_prior is None:
            return super().baseline(tuning)
        return self.given_prior.aligned(tuning.names)

    def own_start(self, tuning: Task) -> Floats:
        """Return the prior, where one is given, or equal weights."""
        if self.given_prior is None:
            return super().own_start(tuning)
        return self.given_prior.aligned(tuning.names)

    def tune(self, tuning: Task, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Return what the last of several settings leads to."""
        *_, last = self.prepared(tuning, start, rng)[0].stages(tuning, start, rng)
        return last

    @property
    def drawn_towards(self) -> Weights | None:
        """The prior that was given, or found on the core features."""
        return self.given_prior if self._core_prior is None else self._core_prior

    def prepared(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> tuple[MERT, Outcome | None]:
        """Find the prior by a run without penalty on the core features, if that is asked for."""
        if not self.core:
            return self, None
        names = tuning.names
        _, begin = self._begins(names, equal_weights(tuning), start)
        core = tuning.with_features(self.core)
        core_names = core.names
        begin = begin[[names.index(name) for name in core_names]]
        constraints = self.constraints().among(core_names, names)
        outcome = Outcome(begin)
        if {*core_names} - {*dict(constraints.fixed)}:
            hypotheses = core.hypotheses()
            space = Space.of(core_names, begin, constraints)
            place = hypotheses, hypotheses.spread(), space, begin, None
            with whole_or_nothing():  # weights of some features alone are no result
                outcome = self._search(*place, rng.spawn(1)[0])
        prior = Weights.from_dict(dict.fromkeys(names, 0.0)).updated(
            Weights(core_names, outcome.weights)
        )
        return self.changed(_core_prior=prior), outcome

    def _begins(
        self, names: tuple[str, ...], usual: Floats, start: Floats | None
    ) -> tuple[Space, Floats]:
        """Return what the weights may be, and where they begin."""
        if start is not None:
            space = self.space(names, start)
            return space, space.exact(start)
        begin = usual if self.given_prior is None else self.given_prior.aligned(names)
        space = self.space(names, begin)
        return space, space.inside(begin)

    def stages(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Try each strength from where the one before ended, for each scale of the length."""
        hypotheses = tuning.hypotheses()
        spread = hypotheses.spread()
        space, first = self._begins(tuning.names, equal_weights(tuning), start)
        if start is None and self.drawn_towards is not None:
            first = space.inside(self.drawn_towards.aligned(tuning.names))
        # Another length wants other weights, which are not on the way from one to the other.
        by_length = itertools.groupby(self.settings(), lambda setting: setting.get("length_scale"))
        paths = [list(settings) for _, settings in by_length]
        generators = [rng] if len(paths) == 1 else rng.spawn(len(paths))
        tasks = list(zip(paths, generators, strict=True))
        if len(tasks) > 1 and can_be_sent(tuning):
            shared = self, spread, space, first
            yield from settings_apart(tuning, _path_apart, tasks, [*map(len, paths)], *shared)
            return
        for path, generator in tasks:
            yield from self._path(tuning, hypotheses, path, generator, spread, space, first)

    def _path(
        self,
        tuning: Task,
        hypotheses: TuningHypotheses,
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator,
        spread: Floats,
        space: Space,
        begin: Floats,
    ) -> Iterator[Outcome]:
        """Try each strength from where the one before ended, with one scale of the length."""
        names = hypotheses.names
        metric = with_length_scale(tuning.metric, settings[0].get("length_scale"))
        if metric != tuning.metric:
            tuning = tuning.with_metric(metric)
            hypotheses = tuning.hypotheses()
        prior = None if self.drawn_towards is None else self.drawn_towards.aligned(names)
        for setting in settings:
            penalty = self.penalty_of(setting.get("strength", 0.0), names, prior)
            points = [space.exact(point) for point in self.points(names)]
            points += self._list_ends(tuning, spread, space, begin, penalty, rng)
            outcome = self._search(hypotheses, spread, space, begin, penalty, rng, points)
            begin = outcome.weights
            yield outcome

    def _list_ends(
        self,
        tuning: Task,
        spread: Floats,
        space: Space,
        begin: Floats,
        penalty: Penalty | None,
        rng: np.random.Generator,
    ) -> list[Floats]:
        """Return where rounds on lists of forests' best derivations end, the last first."""
        if not tuning.has_forests or not self.list_rounds:
            return []
        (generator,) = rng.spawn(1)
        ends = [begin]
        lists: TuningSet | None = None
        round_now = Keeping()

        def so_far() -> SoFar | None:
            now = round_now.so_far()
            steps = f"{len(ends) - 1} of {self.list_rounds} rounds"
            if now is not None and len(ends) == 1:
                steps = now.steps
            completed = ends[:-1] if now is None else [now.outcomes[0].weights, *ends[:-1]]
            # What counts is what the forests say.
            gains = [float(tuning.metric.gain(tuning.total_at(end))) for end in completed]
            best = completed[int(np.argmax(gains))] if completed else None
            return None if best is None else SoFar({0: Outcome(best)}, f"{steps} on lists")

        keep(so_far)
        for _ in range(self.list_rounds):
            check()
            more = tuning.round_lists(ends[0], MOST_LISTED)
            lists = more if lists is None else lists.merged(more)
            place = lists.hypotheses(), spread, space, ends[0], penalty
            with told_to(round_now):
                ends.insert(0, self._search(*place, generator).weights)
        return ends[:-1]

    def _search(
        self,
        hypotheses: TuningHypotheses,
        spread: Floats,
        space: Space,
        begin: Floats,
        penalty: Penalty | None,
        rng: np.random.Generator,
        points: Sequence[Floats] = (),
    ) -> Outcome:
        """Climb from the start, from earlier points, then from others, and keep the best."""
        tuning = hypotheses.tuning
        climbs = Climbs(
            self.directions,
            self._times("walks", hypotheses),
            spread,
            space,
            self._smoothing(),
            tolerance_on(tuning),
            penalty,
            tuning.best_gain(),
            hypotheses.axes(space.coordinates()) if self.axes else None,
        )
        restarts = self._times("restarts", hypotheses)
        ways = self._ways(partial(climbs.on, hypotheses), begin, points, rng, restarts)
        done = _Ends(ways, begin, penalty)
        keep(done.so_far)
        for together in ways:
            check()
            best = done.best
            begins = [self._begin(way, best.weights) for way in together]
            # From where a far-off climb ended it is worth walking only if that is the best yet.
            floors = [best.value if way.is_far else -np.inf for way in together]
            randoms = [way.climb.rng for way in together]
            tasks = list(zip(begins, floors, randoms, strict=True))
            ends = done.next()
            if len(tasks) == 1:  # its line searches are shared out
                ends[0] = climb_and_walk(hypotheses, tasks[0], climbs)
            else:
                ends.update(
                    enumerate(share_out(hypotheses, climb_and_walk, tasks, climbs, results=ends))
                )
            remark = f"best {score_of(tuning.metric, done.best.value):.2f}"
            progress("tuning", len(done.ends), done.count, remark)
            if done.best.is_top:
                break
        return done.outcome()

    def _ways(
        self,
        climb: partial[Climb],
        begin: Floats,
        points: Sequence[Floats],
        rng: np.random.Generator,
        restarts: int,
    ) -> list[list[_Way]]:
        """Return the climbs to make; those of a list set out together.

        The first is alone; the others know what those before them found.
        """
        first, *generators = rng.spawn(restarts + 1)
        earlier = self._earlier_ones(begin, points, climb(first))
        second = [
            _Way({"restart": 0, "earlier": k}, climb(generator), point, is_far=True)
            for k, (generator, point) in enumerate(
                zip(rng.spawn(len(earlier)), earlier, strict=True)
            )
        ]
        third = [
            _Way({"restart": k}, climb(generator), None, self._is_far(k))
            for k, generator in enumerate(generators, 1)
        ]
        fours = [
            part[k : k + ROUND] for part in (second, third) for k in range(0, len(part), ROUND)
        ]
        return [[_Way({"restart": 0}, climb(first), begin)], *fours]

    def _earlier_ones(self, begin: Floats, points: Sequence[Floats], climb: Climb) -> list[Floats]:
        """Return the weights of earlier rounds to climb from, the best first.

        All are tried on the lists, so that none of them is better than what is returned. Where a
        climb is costly, it sets out from the best alone, if that is better than the start.
        """
        others = distinct([begin, *points])[1:]
        if not others:
            return []
        values = [climb.value(climb.hypotheses.point(point)) for point in [begin, *others]]
        order = sorted(range(len(others)), key=lambda k: -values[k + 1])
        if not (self._directions().is_costly or climb.hypotheses.is_costly):
            return [others[k] for k in order[:EARLIER]]
        return [others[k] for k in order[:1] if values[k + 1] > values[0]]

    def _is_far(self, restart: int) -> bool:
        """Tell whether a restart begins anywhere; the first climb begins at the start."""
        return restart > 0 and (self.begin == "anywhere" or restart % ROUND == 0)

    def _begin(self, way: _Way, best: Floats) -> Floats:
        if way.begin is not None:
            return way.begin
        climb = way.climb
        if way.is_far:
            # Of the weights' size only where their size matters.
            matters = climb.space.pins_scale or climb.penalty is not None
            size = climb.size_of(best) if matters else 1.0
            return climb.space.inside(size * climb.change())
        return around(best, climb, RESTART_DISTANCE)


def _path_apart(
    tuning: Task,
    task: tuple[Sequence[dict[str, Any]], np.random.Generator],
    tuner: MERT,
    *shared: Any,
) -> list[Outcome]:
    """Try the strengths that belong together, in another process."""
    return timed(tuner._path(tuning, tuning.hypotheses(), *task, *shared))


class _Ends:
    """The climbs of a search that are complete: of those that set out together, some may be."""

    def __init__(
        self, ways: Sequence[Sequence[_Way]], begin: Floats, penalty: Penalty | None
    ) -> None:
        self._ways, self._begin, self._penalty = ways, begin, penalty
        self._made: list[dict[int, End]] = []
        self.count = sum(map(len, ways))

    def next(self) -> dict[int, End]:
        """Return where the ends of the next climbs go, by their number among them."""
        self._made.append({})
        return self._made[-1]

    @property
    def ends(self) -> list[tuple[_Way, End]]:
        """All ends, in the order of the climbs."""
        groups = zip(self._ways, self._made, strict=False)
        return [(together[k], ends[k]) for together, ends in groups for k in sorted(ends)]

    @property
    def best(self) -> End:
        """The best end, the first among equals; the start if there is none."""
        best = End(self._begin, -np.inf)
        for _, end in self.ends:
            if end.value > best.value:
                best = end
        return best

    def outcome(self) -> Outcome:
        """Return what the search has come to."""
        best, ends = self.best, self.ends
        history = [{**way.label, **entry} for way, end in ends for entry in end.history]
        searches = sum(end.searches for _, end in ends)
        figures: dict[str, Any] = {"objective": best.value, "penalty": self._penalty}
        return Outcome(best.weights, history, searches, **figures)

    def so_far(self) -> SoFar | None:
        """Return what an interrupted search has come to."""
        done = len(self.ends)
        return SoFar({0: self.outcome()}, f"{done} of {self.count} climbs") if done else None


@dataclass(frozen=True)
class _Way:
    """A climb that is to be made, and where it begins; None if that is to be drawn."""

    label: dict[str, int]
    climb: Climb
    begin: Floats | None
    is_far: bool = False
