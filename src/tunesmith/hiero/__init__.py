"""A hierarchical phrase-based decoder, from parallel text to forests.

Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007).
"""

from tunesmith.hiero.decoder import HieroDecoder

__all__ = ["HieroDecoder"]
