"""Random restrictions on weights, and a check of them that shares no code with the package."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.helpers.builders import Loss, Mean, tuning_set


@dataclass
class Restrictions:
    """Options as a user gives them."""

    fix: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)
    tie: list[str] = field(default_factory=list)
    scale_together: list[str] = field(default_factory=list)

    def options(self) -> dict[str, list[str]]:
        return vars(self)


def random_restrictions(rng: np.random.Generator, start: Mapping[str, float]) -> Restrictions:
    """Draw restrictions that do not contradict each other and leave a weight to tune."""
    found = Restrictions()
    names = list(rng.permutation(list(start)))
    free = names.pop()  # whatever else happens to it, it is not made constant
    if rng.random() < 0.4:
        found.bound.append(f"{free}={random_range(rng)}")
    while names:
        kind = rng.choice(["free", "fix", "bound", "tie", "group"])
        if kind == "fix":
            found.fix.append(f"{names.pop()}={float(rng.choice([0.0, 1.0, -1.0, rng.normal()]))!r}")
        elif kind == "bound":
            found.bound.append(f"{names.pop()}={random_range(rng)}")
        elif kind in {"tie", "group"} and len(names) > 1:
            block = [names.pop() for _ in range(min(len(names), int(rng.integers(2, 4))))]
            if kind == "tie":
                found.tie.append("=".join(block))
                if rng.random() < 0.3:
                    found.fix.append(f"{block[0]}={rng.normal()!r}")
                elif rng.random() < 0.5:
                    found.bound.append(f"{block[-1]}={random_range(rng)}")
            elif any(start[name] for name in block):
                found.scale_together.append(",".join(block))
                if rng.random() < 0.5:  # a bound that the scale 0 satisfies
                    found.bound.append(f"{block[0]}={rng.choice(['0:', ':0', '-0.3:0.7'])}")
        elif kind == "free":
            names.pop()
    return found


def random_range(rng: np.random.Generator) -> str:
    low, high = sorted(rng.normal(size=2).tolist())
    return str(rng.choice(["0:", ":0", f"{low!r}:", f":{high!r}", f"{low!r}:{high!r}", "0:1"]))


def broken(
    weights: Mapping[str, float], start: Mapping[str, float], held: Restrictions
) -> list[str]:
    """Return the restrictions that weights do not satisfy to the last bit."""
    found = []
    for text in held.fix:
        name, value = text.split("=")
        if weights[name] != float(value):
            found.append(f"fix {text}: {weights[name]!r}")
    for text in held.bound:
        name, limits = text.split("=")
        low, high = limits.split(":")
        if not float(low or "-inf") <= weights[name] <= float(high or "inf"):
            found.append(f"bound {text}: {weights[name]!r}")
    ties = [
        f"tie {text}"
        for text in held.tie
        if len({struct.pack("d", weights[name]) for name in text.split("=")}) > 1
    ]
    groups = [
        f"scale-together {text}"
        for text in held.scale_together
        if not one_factor([(weights[n], start[n]) for n in text.split(",")])
    ]
    return found + ties + groups


def one_factor(pairs: Sequence[tuple[float, float]]) -> bool:
    """Tell whether one number times each starting weight is the weight, bit for bit."""
    weight, begin = max(pairs, key=lambda pair: abs(pair[1]))
    near = [weight / begin]
    for towards in (-np.inf, np.inf):
        at = near[0]
        for _ in range(3):
            at = float(np.nextafter(at, towards))
            near.append(at)
    return any(all(scale * b == w for w, b in pairs) for scale in near)


def restricted_problem(seed):
    """Return a small set, starting weights and restrictions on them."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 6))
    groups = [rng.normal(size=(rng.integers(1, 6), width)).round(1) for _ in range(4)]
    values = [rng.integers(0, 5, len(g)).tolist() for g in groups]
    sparse = [width - 1] if width > 1 and rng.random() < 0.3 else []
    metric = Loss() if rng.random() < 0.3 else Mean()
    tuning = tuning_set([g.tolist() for g in groups], values, sparse, metric)
    names = tuning.candidates.features.names
    begin = {name: float(rng.choice([0.0, 1.0, rng.normal()])) for name in names}
    return tuning, begin, random_restrictions(rng, begin), rng
