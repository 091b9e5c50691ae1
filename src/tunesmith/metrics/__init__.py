"""Metrics: statistics per candidate, and the score of their sum.

``base`` has :class:`Metric` and the registry; begin there to add one, with ``bleu`` as an example.
``scored`` and ``scored_forests`` are candidates with the statistics of a metric, and
``candidate_scorer`` is what a single candidate is worth to tuners that learn.
"""
