"""Which derivations win along a line.

``search`` is the door; ``gaps`` looks into the gaps between known winners.
"""
