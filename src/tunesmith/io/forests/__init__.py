"""Formats of forests and lattices: one module per format.

``read`` and ``write`` work whatever the format; ``base`` has :class:`ForestFormat` and its
registry. Lattices share ``lattice``; our own columnar format is the package ``arrow``.
"""
