"""Extraction of hierarchical rules from aligned text.

``table`` is the door.
"""
