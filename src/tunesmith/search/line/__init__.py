"""The metric along a line, and the best step on it.

``batch`` is the door: searches of many lines at once. ``search`` chooses a step by the metric;
``smooth`` and ``penalised`` are variants of it, ``penalties`` what is taken off.
"""
