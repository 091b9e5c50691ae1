"""Fusion of runs: weights that are 0 or more, held against what people do without tuning.

Begin with ``fuse``; ``mix`` is the exact search over two runs, ``baselines`` what a result is
compared with.
"""
