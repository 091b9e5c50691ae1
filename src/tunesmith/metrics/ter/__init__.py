"""TER: the fewest edits and shifts.

``metric`` is the metric, ``edits`` finds shifts, ``distance`` the edit distance within.
"""

from tunesmith.metrics.ter.metric import TER

__all__ = ["TER"]
