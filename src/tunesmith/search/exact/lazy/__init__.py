"""Algorithm 2 of LP-MERT: combinations in the order of their loss.

``search`` is the door.
"""
