"""Cones of few features, bisected.

``search`` is the door, ``simplices`` has its kernels.
"""
