"""Exact search over a plane, or over three weights.

``search`` is the door.
"""
