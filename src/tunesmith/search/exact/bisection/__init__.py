"""Cones of few features, bisected.

``search`` is the door. ``simplices`` bisects: ``edges`` says where, ``dominance`` which points can
still win, and ``minorants`` what is lost at least.
"""
