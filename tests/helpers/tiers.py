"""Two tiers of tests: ``make test`` runs those that find most, ``make test-all`` runs all.

Tests that are marked ``long`` are in the second alone. Properties are tried on fewer examples in
the first; which ones is the same every time in both.
"""

from __future__ import annotations

import numba
from hypothesis import HealthCheck, settings

#: In the first tier, one in so many of the examples of a property is tried.
PART = 10
#: But no fewer than these, where there are so many.
FEWEST = 5

# The first call of a kernel may compile it; a deadline would measure that.
settings.register_profile(
    "all",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("all"), max_examples=100 // PART)


def examples(number: int, interpreted: int | None = None) -> int:
    """Return on how many examples a property is tried: on a part of them in the first tier.

    Parameters
    ----------
    number
        How many there are in the second.
    interpreted
        How many there are where kernels are interpreted, if that would take too long.
    """
    if interpreted is not None and numba.config.DISABLE_JIT:
        return interpreted
    is_quick = settings.get_current_profile_name() == "quick"
    return max(min(number, FEWEST), number // PART) if is_quick else number
