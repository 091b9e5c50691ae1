"""Formats of n-best lists: one module per format.

``base`` has :class:`CandidateFormat` and its registry; begin there to add one. Lists with ``|||``
between fields share ``bars``.
"""
