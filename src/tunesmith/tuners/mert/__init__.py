"""MERT: exact line searches, from several starts.

``mert`` is the tuner and the place to begin; ``climbs`` runs several climbs side by side,
``regularised`` holds the options of penalties.
"""

from tunesmith.tuners.mert.mert import MERT

__all__ = ["MERT"]
