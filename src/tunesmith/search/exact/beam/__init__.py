"""LP-MERT with a beam, for many groups.

``search`` is the door, ``rows`` has its kernels.
"""
