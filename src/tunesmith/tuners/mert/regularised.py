"""Penalties on weights as options of a tuner."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.features import FeatureSelection
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError, WeightNamesError
from tunesmith.io.weights.files import read_weights
from tunesmith.metrics.base import Metric
from tunesmith.registry import Numbers, Options, Texts, numbers, option, texts
from tunesmith.search.line.penalised import Penalty
from tunesmith.search.line.penalties import NonZero, NormalisedSquare, SquaredDistance
from tunesmith.search.space.constraints import unknown_feature

#: What belongs to one penalty alone.
OWN_OPTIONS = {"prior": "l2-prior", "core": "l2-prior", "fixed_feature": "l2-fixed"}
#: More than any metric needs, and far from what a number can hold.
STRONGEST = 1e100


def _file_or_weights(flag: str, value: object) -> Any:
    if isinstance(value, Mapping):
        return Weights.from_dict(value)
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{flag} is {value!r}; give a file, or weights by name")
    return value


@dataclass(frozen=True, kw_only=True)
class Regularised(Options):
    """What a tuner inherits, before ``Tuner``, to take a penalty on weights.

    The objective is the metric in natural units (BLEU from 0 to 1) minus the strength times R:
    of ``l2-prior`` ‖w − w0‖², of ``l2-fixed`` ‖w‖² with one weight held, of ``l2-normalized``
    ‖w / ‖w‖₁‖², of ``l0`` the number of weights that are not 0.
    """

    penalty: Literal["none", "l2-prior", "l2-fixed", "l2-normalized", "l0"] = option(
        "none", "penalty that is subtracted from the metric"
    )
    strength: Numbers = option(
        (),
        "strength of the penalty; a held-out set chooses among several",
        convert=numbers,
        least=0,
        most=STRONGEST,
    )
    prior: str | os.PathLike[str] | Mapping[str, float] = option(
        "", "weights that l2-prior pulls towards", "FILE", convert=_file_or_weights
    )
    core: Texts = option(
        (),
        "features of a first run without penalty, whose weights are the prior",
        "PATTERN",
        convert=texts,
    )
    fixed_feature: str = option("", "feature whose weight l2-fixed keeps at its start", "NAME")
    length_scale: Numbers = option(
        (),
        "factor on BLEU's reference length while tuning; a held-out set chooses among several",
        convert=numbers,
        above=0,
        below=np.inf,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.penalty == "none" and self.strength:
            raise UsageError("strength without a penalty; give --penalty, as l2-prior or l0")
        if self.penalty != "none" and not self.strength:
            raise UsageError(f"penalty {self.penalty} needs a strength; give --strength, as 1e-3")
        self._check_own_options()
        _ = self.given_prior  # a file is read now

    def _check_own_options(self) -> None:
        for field, owner in OWN_OPTIONS.items():
            if getattr(self, field) and self.penalty != owner:
                flag = field.replace("_", "-")
                raise UsageError(f"{flag} goes with the penalty {owner}; give --penalty {owner}")
        if self.penalty == "l2-fixed" and not self.fixed_feature:
            raise UsageError("penalty l2-fixed holds one weight; name it with --fixed-feature")
        if self.penalty == "l2-prior" and bool(self.prior) == bool(self.core):
            remedy = (
                "--prior or --core, not both" if self.core else "--prior FILE or --core PATTERN"
            )
            raise UsageError(f"penalty l2-prior draws towards prior weights; give {remedy}")

    @cached_property
    def given_prior(self) -> Weights | None:
        """The prior weights that were given."""
        if isinstance(self.prior, Mapping):
            return Weights.from_dict(self.prior)
        return read_weights(self.prior).weights if self.prior else None

    def settings(self) -> list[dict[str, Any]]:
        """Return what is tried in turn: with each scale of the length each strength."""
        several = {"length_scale": self.length_scale, "strength": self.strength}
        chosen = {name: values for name, values in several.items() if values}
        return [
            dict(zip(chosen, values, strict=True)) for values in itertools.product(*chosen.values())
        ]

    def shown_option(self, field: str) -> object:
        """Return the prior's weights as a digest: a file may change."""
        if field != "prior" or self.given_prior is None:
            return getattr(self, field)
        text = repr(sorted(self.given_prior.items()))
        return f"sha256-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def check_features(self, names: tuple[str, ...], strict: bool) -> None:
        """Hold what options say of features against those of the data."""
        if self.given_prior is not None:
            where = "prior: " if isinstance(self.prior, Mapping) else f"{self.prior}: prior: "
            try:
                self.given_prior.matched(names, strict, where)
            except WeightNamesError as error:
                # It names its own file; an error about names is otherwise one about the start.
                raise TunesmithError(str(error)) from None
        if self.core:
            FeatureSelection.of(self.core).check(names, "core")
        if self.fixed_feature and self.fixed_feature not in names:
            raise unknown_feature(self.fixed_feature, names, "fixed-feature")

    def held(
        self, names: Sequence[str], start: Floats, fixed: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the weight that is constant, and what it is: where it starts or is fixed."""
        if self.penalty != "l2-fixed":
            return {}
        name = self.fixed_feature
        value = fixed.get(name, float(start[list(names).index(name)]))
        if value == 0.0:
            how, remedy = "starts", f"give other starting weights, or --fix {name}=1"
            if name in fixed:
                how, remedy = "is fixed", "fix it elsewhere"
            raise UsageError(f"fixed-feature {name} {how} at 0 and would be held there; {remedy}")
        return {name: value}

    def penalty_of(
        self, strength: float, names: Sequence[str], prior: Floats | None
    ) -> Penalty | None:
        """Return the penalty; None where there is none or it has no strength."""
        if strength == 0.0 or self.penalty == "none":
            return None
        if self.penalty == "l0":
            return NonZero(strength)
        if self.penalty == "l2-normalized":
            return NormalisedSquare(strength)
        counted = np.array([float(name != self.fixed_feature) for name in names])
        return SquaredDistance(strength, np.zeros(len(names)) if prior is None else prior, counted)


def with_length_scale(metric: Metric, scale: float | None) -> Metric:
    """Return a metric whose reference length is scaled; the statistics stay the same."""
    if scale is None:
        return metric
    if "reference_length_scale" not in metric.scoring_options:
        raise UsageError(
            f"{metric.name} has no reference length to scale; tune for bleu, or leave out "
            "length-scale"
        )
    scalable: Any = metric
    changed: Metric = dataclasses.replace(
        scalable, reference_length_scale=scale * scalable.reference_length_scale
    )
    return changed
