"""PRO: ranking by pairs of candidates.

``pro`` is the tuner and the place to begin; ``pairs``, ``selection``, ``acceptance`` and
``ranking`` are its steps, and ``gathering`` takes the first three over all groups.
"""

from tunesmith.tuners.pro.pro import PRO

__all__ = ["PRO"]
