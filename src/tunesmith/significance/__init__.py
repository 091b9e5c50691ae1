"""Whether a difference between systems is more than chance.

``comparing`` is the door; ``resampling`` draws, and ``comparison`` is what comes out.
"""

from tunesmith.significance.comparing import compare
from tunesmith.significance.comparison import Comparison

__all__ = ["Comparison", "compare"]
