"""Inference: winners, envelopes, expectations and examples for learners.

``hypotheses`` is what line searches and gradients ask, ``examples`` what online learners ask; the
packages ``lists`` and ``forests`` answer.
"""
