"""What a model can be asked about its candidates.

``hypotheses`` is what line searches and gradients ask, ``examples`` what online learners ask; the
packages ``lists`` and ``forests`` answer.
"""
