"""A hierarchical phrase-based decoder, from parallel text to forests.

Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007).

``decoder`` is the door; ``engine`` puts ``grammar``, ``lm`` and ``chart`` together, and
``training`` makes models of parallel text.
"""

from tunesmith.hiero.decoder import HieroDecoder

__all__ = ["HieroDecoder"]
