"""The metric along a line, and the best step on it.

``search`` is the door; ``smooth`` and ``penalised`` are variants of it, ``penalties`` what is taken
off.
"""
