"""Fusion of runs and votes: weights that are 0 or more, held against what people do without tuning.

Begin with ``fuse`` for rankings and ``vote`` for classifiers; ``mix`` is the exact search over two
weights, ``baselines`` what a result is compared with.
"""
