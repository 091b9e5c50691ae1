"""Files of rankings: runs, judgements, rows of features, and fused models for search engines.

Begin with ``read``. ``trec`` has runs and judgements of TREC, ``letor`` rows of features,
``frames`` data frames, ``model`` our own models, and ``engines`` what search engines and
other programs take.
"""
