"""Formats of forests and lattices: one module per format.

``read`` and ``write`` work whatever the format; ``base`` has :class:`ForestFormat` and its
registry. Those of lattices are the package ``lattices``; our own columnar format is ``arrow``.
"""
