"""Line searches and points of lists, many at once, on a GPU.

``hypotheses`` is the class that tuners ask and the place to begin; ``batches`` keeps the arrays on
the device and launches kernels, which are in ``envelopes``, ``sorting``, ``intervals`` and
``points``.
"""
