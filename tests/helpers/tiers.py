"""Two tiers of tests: ``make test`` runs those that find most, ``make test-all`` runs all.

Tests that are marked ``long`` are in the second alone. Properties are tried on few examples in
the first, on more in the second, and on all with ``make test-all EXAMPLES=thorough``; which ones
is the same every time.
"""

from __future__ import annotations

import numba
from hypothesis import HealthCheck, settings

#: By profile: of how many examples of a property one is tried.
SHARES = {"quick": 10, "all": 3, "thorough": 1}
#: But no fewer than these, where there are that many.
FEWEST = 5
#: How many examples hypothesis tries of a property that names no number.
USUAL = 100

# The first call of a kernel may compile it; a deadline would measure that.
settings.register_profile(
    "thorough",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
for _name in ("all", "quick"):
    settings.register_profile(
        _name, settings.get_profile("thorough"), max_examples=USUAL // SHARES[_name]
    )


def examples(number: int, interpreted: int | None = None) -> int:
    """Return on how many examples a property is tried in this tier.

    Parameters
    ----------
    number
        How many there are in all.
    interpreted
        How many there are where kernels are interpreted, if that would take too long.
    """
    share = SHARES.get(settings.get_current_profile_name(), 1)
    if interpreted is not None and numba.config.DISABLE_JIT:
        number = interpreted
    return max(min(number, FEWEST), number // share)
