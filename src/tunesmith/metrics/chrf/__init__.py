"""chrF and chrF++.

``metric`` counts, ``score`` makes scores of counts.
"""

from tunesmith.metrics.chrf.metric import CHRF

__all__ = ["CHRF"]
