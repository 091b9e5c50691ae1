"""Pictures and pages of results.

``surface`` and ``map`` show the metric along lines and over planes; ``page`` is the page of a run.
"""
