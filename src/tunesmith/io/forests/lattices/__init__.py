"""Formats of lattices: forests whose hyperedges have one tail at most.

``base`` has what they share: arcs as they are read, and forests as states and arcs. Begin with
``sphinx`` to add one.
"""
