"""Our own columnar form of forests, with one row per forest.

``format`` is the door; ``layout`` says what a row holds, ``writer`` writes streams, ``store`` reads
in blocks, and ``temporary`` is for sets that memory does not hold.
"""

from tunesmith.io.forests.arrow.format import ArrowForests

__all__ = ["ArrowForests"]
