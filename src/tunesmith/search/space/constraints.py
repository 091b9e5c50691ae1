"""Restrictions on weights as a user writes them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tunesmith.errors import UsageError, nearest


@dataclass(frozen=True)
class Bound:
    """What a weight may be; an open side is infinite."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Constraints:
    """Restrictions, read but not yet held against the features of any data.

    Attributes
    ----------
    fixed
        Names and their constant weights.
    bounds
        Names and their ranges.
    ties, groups
        Texts ``A=B=C`` (equal weights) and ``A,B,C`` (weights that keep their ratios). Which
        names they hold is known only together with the data: a name may contain the sign.
    non_negative
        Whether no weight is below 0.
    sum_to_one
        Whether the weights of a result add up to 1.
    """

    fixed: tuple[tuple[str, float], ...] = ()
    bounds: tuple[Bound, ...] = ()
    ties: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    non_negative: bool = False
    sum_to_one: bool = False

    @classmethod
    def parse(
        cls,
        fix: Sequence[str] = (),
        bound: Sequence[str] = (),
        tie: Sequence[str] = (),
        scale_together: Sequence[str] = (),
        non_negative: bool = False,
        sum_to_one: bool = False,
    ) -> Constraints:
        """Read ``NAME=1``, ``NAME=0:``, ``A=B`` and ``A,B,C``."""
        for option, texts, sign, form in (
            ("tie", tie, "=", "A=B"),
            ("scale-together", scale_together, ",", "A,B"),
        ):
            for text in texts:
                if not all(text.split(sign)) or sign not in text:
                    raise UsageError(f"{option} '{text}' has no two names; write {form}")
        return cls(
            tuple(_fixed_names(text) for text in fix),
            tuple(_bound(text) for text in bound),
            tuple(tie),
            tuple(scale_together),
            non_negative,
            sum_to_one,
        )

    def __bool__(self) -> bool:
        several = self.fixed or self.bounds or self.ties or self.groups
        return bool(several or self.non_negative or self.sum_to_one)

    def expanded(self, names: Sequence[str]) -> Constraints:
        """Return the same with the names of features in the place of patterns as ``rm_*``."""
        return replace(
            self,
            fixed=tuple((n, v) for pattern, v in self.fixed for n in _matching(pattern, names)),
            bounds=tuple(replace(b, name=n) for b in self.bounds for n in _matching(b.name, names)),
        )

    def among(self, some: Collection[str], known: Sequence[str]) -> Constraints:
        """Return the constraints on some of the known features only, which need not sum to one."""
        every = self.expanded(known)

        def shared_names(texts: Sequence[str], sign: str, where: str) -> tuple[str, ...]:
            each = (names_in(text, sign, known, where) for text in texts)
            groups = ([name for name in names if name in some] for names in each)
            return tuple(sign.join(names) for names in groups if len(names) > 1)

        return Constraints(
            tuple((name, value) for name, value in every.fixed if name in some),
            tuple(bound for bound in every.bounds if bound.name in some),
            shared_names(self.ties, "=", "tie"),
            shared_names(self.groups, ",", "scale-together"),
            self.non_negative,
        )


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names that a pattern matches; a name matches itself, whatever is in it."""
    if pattern in names or not set(pattern) & set("*?["):
        return [pattern]
    matching = [name for name in names if fnmatchcase(name, pattern)]
    if not matching:
        near = " or ".join(nearest(pattern.strip("*?"), names, alike=0.4))
        raise UsageError(f"'{pattern}' matches no feature; did you mean {near}?")
    return matching


def _fixed_names(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    if not name:
        raise UsageError(f"fix '{text}' has no name and value; write NAME=1")
    return name, _number(value, f"fix '{text}'")


def _bound(text: str) -> Bound:
    name, _, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    form = "write NAME=low:high, NAME=low: or NAME=:high"
    if not name or not colon:
        raise UsageError(f"bound '{text}' has no name and range; {form}")
    if not low.strip() and not high.strip():
        raise UsageError(f"bound '{text}' is open on both sides; {form}")
    bound = Bound(
        name,
        _number(low, f"bound '{text}'") if low.strip() else -math.inf,
        _number(high, f"bound '{text}'") if high.strip() else math.inf,
    )
    if bound.low > bound.high:
        raise UsageError(f"bound '{text}' holds no number; write the lower one first")
    return bound


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"'{text}' in {where} is not a number; give a finite one")
    return value


def names_in(text: str, sign: str, known: Sequence[str], where: str) -> list[str]:
    """Split a text into known names; they may contain the sign that stands between them."""
    lookup = set(known)
    names = _split(text.split(sign), sign, lookup)
    if names is None:
        unknown = next(part for part in text.split(sign) if part not in lookup)
        raise unknown_feature(unknown, known, where)
    return names


def _split(parts: list[str], sign: str, known: set[str]) -> list[str] | None:
    if not parts:
        return []
    for k in range(1, len(parts) + 1):
        name = sign.join(parts[:k])
        if name in known:
            rest = _split(parts[k:], sign, known)
            if rest is not None:
                return [name, *rest]
    return None


def unknown_feature(name: str, known: Sequence[str], where: str) -> UsageError:
    """Return the error about a name that no feature has, with near ones."""
    near = " or ".join(nearest(name, known))
    return UsageError(f"no feature is called '{name}' ({where}); did you mean {near}?")
