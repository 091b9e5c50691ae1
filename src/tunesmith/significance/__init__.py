"""Whether a difference between systems is more than chance."""

from tunesmith.significance.comparing import compare
from tunesmith.significance.comparison import Comparison

__all__ = ["Comparison", "compare"]
