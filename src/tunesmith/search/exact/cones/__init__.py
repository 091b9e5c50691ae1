"""Search over cones, depth first.

``search`` is the door, ``dive`` has its kernels; ``blocks`` bounds many groups, a few at a time,
which ``grouping`` chooses.
"""
