"""What is tuned on: arrays, no behaviour beyond selection and merging.

``candidates`` is the place to begin: a :class:`CandidateSet` has ``features``, and texts;
``forests`` is its counterpart for forests, ``weights`` the weights.
"""
