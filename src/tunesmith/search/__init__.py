"""Search for weights: along lines, in spaces, over planes, and exact.

Begin with ``line``; ``directions`` makes climbs of line searches, and ``space`` restricts them.
"""
