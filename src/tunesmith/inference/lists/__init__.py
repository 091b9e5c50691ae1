"""Inference on n-best lists.

``hypotheses`` answers what line searches and gradients ask, ``examples`` what online learners ask;
the kernels are in the other files.
"""
