"""Pairwise ranking optimisation (PRO): tuning as ranking.

Hopkins and May, "Tuning as ranking" (EMNLP 2011), as sections 3.1 of Nakov, Guzmán and Vogel,
"Optimizing for sentence-level BLEU+1 yields short translations" (COLING 2012) and "A tale about PRO
and monsters" (ACL 2013) describe it; with the fixes of both.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats, inner
from tunesmith.errors import UsageError
from tunesmith.metrics.candidate_scorer import Objective, objective_of
from tunesmith.registry import Numbers, Texts, distinct_texts, numbers, option, texts
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tuners.base import TUNERS, Outcome
from tunesmith.tuners.fitting.rounds import Round, Rounds
from tunesmith.tuners.pro.acceptance import ACCEPTANCES
from tunesmith.tuners.pro.gathering import PairSteps, has_monsters
from tunesmith.tuners.pro.pairs import SAMPLERS, Sampler
from tunesmith.tuners.pro.ranking import LEARNERS, Learner
from tunesmith.tuners.pro.selection import SELECTIONS
from tunesmith.tuners.pro.training_pairs import ListPairs, ShardedPairs, knows_lengths

#: Selections where none are given: the papers' threshold, and what the monsters paper advises.
DIFFERENCE, LENGTH = "difference:least=0.05", "length:most=10"
#: Rounds with an objective that changes by rounds.
SEVERAL = 5
#: Interpolation in a loop: Hopkins and May's.
IN_LOOP = 0.1


@TUNERS.register("pro")
@dataclass(frozen=True, kw_only=True)
class PRO(Rounds):
    """Pairwise ranking optimisation: a classifier learns which of two candidates is better.

    In each round, pairs are sampled from every group, selected and accepted, and a ranker learns
    from them. You can replace each of these four steps by a class of your own,
    ``path/to/file.py:Name``. On fixed lists one round is enough, unless the objective changes
    between rounds. The new weights depend on the old ones only through ``interpolation``.

    In a loop with a decoder, each round of the loop is one round here. The new weights are scaled
    to the Euclidean norm of the old ones before they are mixed: the scale of a ranker's weights
    means nothing to a decoder, and Ψ would mean another mixture with every strength.

    Table 1 of the length paper, and the fixes of the monsters paper, are settings of ``select``
    and ``accept``: plain PRO is ``select=("difference",)``; without threshold and with random
    acceptance it is ``select=("all",), accept="random"``. A BLEU+1 cut-off of 10 points is
    ``difference:most=0.1``.
    """

    objective: Texts = option(
        (),
        "value of a candidate while learning, such as bleu+1, "
        "brevity-smoothed, document; a held-out set chooses among several [default: grounded "
        "for bleu, otherwise metric]",
        "NAME",
        convert=distinct_texts,
    )
    sample: str = option("uniform:pairs=5000", "how pairs of a group are sampled", "NAME")
    select: Texts = option(
        (),
        "which sampled pairs are selected: difference:least=,most=; length:most=; "
        "outliers:of=,deviations=; stochastic:of=; all. Several are combined "
        f"[default: {DIFFERENCE}, and {LENGTH} where lengths are known]",
        "NAME",
        convert=texts,
    )
    accept: str = option(
        "greatest:pairs=50", "which selected pairs are accepted: greatest, random, all", "NAME"
    )
    learn: str = option("logistic", "the ranker: logistic, hinge, sklearn", "NAME")
    strength: Numbers = option(
        (100.0,),
        "penalty of the ranker on squared weights; a held-out set chooses among several",
        "X",
        convert=numbers,
        above=0,
        below=np.inf,
    )
    iterations: int | None = option(
        None,
        "rounds of all four steps "
        f"[default: 1; {SEVERAL} on forests, of which each takes new lists, and on lists if the "
        "objective changes by rounds: scaled, document]",
        least=1,
    )
    interpolation: float | None = option(
        None,
        "share of the new weights in the mixture with the old ones, the "
        "papers' Ψ "
        f"[default: 1, {IN_LOOP} in a loop with a decoder]",
        above=0,
        most=1,
    )

    varied: ClassVar[tuple[str, ...]] = ("objective", "strength")
    uses_lists: ClassVar[bool] = True
    takes_shards: ClassVar[bool] = True
    #: The length paper's BLEU+1, grounded: of its rows the best on held-out parts of the real
    #: lists that this was tried on, and without much of plain BLEU+1's shortness.
    usual: ClassVar[tuple[str, str]] = ("grounded", "metric")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._steps(has_lengths=False)
        learner = LEARNERS.create(self.learn)
        if self.constraints() and type(learner).learn_within is Learner.learn_within:
            raise UsageError(
                f"learner {learner.name} cannot hold restrictions on weights; use --learn logistic "
                "or hinge"
            )

    @property
    def round_count(self) -> int:
        """The number of rounds; 1 where a second would only sample anew."""
        if self.iterations is not None:
            return self.iterations
        if self.in_loop:
            return 1
        changes = any(objective_of(name).changes_by_round for name in self.objective)
        return SEVERAL if changes else 1

    @property
    def _share(self) -> float:
        """How much of the new weights is taken."""
        if self.interpolation is not None:
            return self.interpolation
        return IN_LOOP if self.in_loop else 1.0

    def _mixed(self, new: Floats, old: Floats, space: Space) -> Floats:
        """Return Ψ times the new weights and the rest of the old ones."""
        if self.in_loop and not space.pins_scale:
            old_size, new_size = (float(np.sqrt(inner(weights, weights))) for weights in (old, new))
            if old_size == 0.0:
                return new
            new = new * (old_size / new_size) if new_size > 0.0 else new
        return space.exact(self._share * new + (1.0 - self._share) * old)

    def _steps(self, has_lengths: bool) -> PairSteps:
        """Return the first three steps; the usual ones where none are given."""
        names = self.select or ((DIFFERENCE, LENGTH) if has_lengths else (DIFFERENCE,))
        return PairSteps(
            SAMPLERS.create(self.sample),
            [(name, SELECTIONS.create(name)) for name in names],
            ACCEPTANCES.create(self.accept),
        )

    def why_nothing(self) -> str:
        """Say that there are no pairs."""
        return "no two candidates of any sentence differ in worth"

    def why_long(self) -> str:
        """Say why monsters win.

        A cut-off keeps them out of the pairs, and where they win already, it keeps them winning:
        no pair tells them from others.
        """
        return (
            "monsters win, and no selected pair speaks against them; select without a cut-off on "
            "length, or begin with other weights"
        )

    def own_start(self, tuning: Task) -> Floats:
        """Return 0 where old weights are mixed in: made-up ones would spoil the new."""
        begin = super().own_start(tuning)
        return begin if self._share == 1.0 else np.zeros_like(begin)

    def check(self, tuning: Task) -> None:
        """Raise an error if a selection needs lengths, and they are not known."""
        super().check(tuning)
        has_lengths = knows_lengths(tuning)
        for name, selection in self._steps(has_lengths).selections:
            if selection.needs_lengths and not has_lengths:
                raise UsageError(
                    f"selection {name} needs lengths, which {tuning.metric.name} does not know; "
                    "give references and texts, or leave it out"
                )
        for objective in self._objectives(tuning.metric) if tuning.is_sharded else ():
            if not objective.is_local(tuning.metric):
                raise UsageError(
                    f"objective {objective.name} values a candidate by more than its own "
                    "statistics, and shards have no more; use bleu+1, grounded or metric, or drop "
                    "--sharded"
                )

    def check_shards(self, is_sharded: bool) -> None:
        """Raise an error if a step needs more than the groups of its own shard."""
        super().check_shards(is_sharded)
        if not is_sharded:
            return
        steps = self._steps(has_lengths=False)
        if type(steps.sampler).skip is Sampler.skip:
            raise UsageError(
                f"sampler {self.sample} may look at more than the sizes of groups, and shards know "
                "no more of each other; use --sample uniform, or drop --sharded"
            )
        random = [name for name, selection in steps.selections if selection.is_random]
        random += [self.accept] if steps.acceptance.is_random else []
        if random:
            raise UsageError(
                f"{random[0]} may draw random numbers for each pair, and shards know no pairs of "
                "each other; use others for --select and --accept, or drop --sharded"
            )

    def prepared(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> tuple[PRO, Outcome | None]:
        """Decide how many rounds there are: of forests each has new lists."""
        makes_lists = tuning.lists is None and not tuning.is_sharded
        if self.iterations is None and not self.in_loop and makes_lists:
            return self.changed(iterations=SEVERAL), None
        return self, None

    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Gather pairs, and learn from them.

        Of forests each round takes lists under its weights, beside those of the rounds before.
        """
        learner = LEARNERS.create(self.learn)
        (strength,) = self.strength
        weights, space = start, self.space(tuning.names, start)
        warned = False
        pairs = self._pairs_of(tuning, objective, start, rng)
        for number in range(1, self.round_count + 1):
            training_pairs = pairs.gather(rng)
            entry = training_pairs.entry()
            if not warned and has_monsters(entry, tuning.metric):
                _warn_of_monsters(number, entry)
                warned = True
            if len(training_pairs):
                vectors = training_pairs.vectors
                new = (
                    learner.learn(vectors, strength)
                    if space.is_free
                    else learner.learn_within(vectors, strength, space)
                )
                if not vectors.nnz:
                    warnings.warn("no feature differs in any pair: its weights are 0", stacklevel=2)
                weights = self._mixed(new, weights, space)
            yield Round(weights, entry)
            pairs.end_round(weights)

    def _pairs_of(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> ListPairs | ShardedPairs:
        steps = self._steps(knows_lengths(tuning))
        if tuning.is_sharded:
            return ShardedPairs(tuning, objective, steps)
        return ListPairs(self, tuning, objective, steps, start, rng)


def _warn_of_monsters(number: int, entry: dict[str, Any]) -> None:
    """Say that negatives are unsuitable for learning, and what helps."""
    warnings.warn(
        f"monsters in round {number}: negatives have {entry['negative_length']:.0f} words, "
        f"references {entry['reference_length']:.0f}, and score {entry['negative_score']:.1f}, "
        f"positives {entry['positive_score']:.1f}; add --select length:most=10",
        stacklevel=3,
    )
