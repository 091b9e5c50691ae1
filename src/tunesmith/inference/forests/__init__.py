"""Inference on forests and lattices.

``hypotheses`` answers what line searches and gradients ask, ``examples`` what online learners ask.
Below them are the dynamic programs: ``derivations`` (Viterbi), ``inside``, ``kbest``, ``envelope``,
``ngrams``, ``hope_fear``, ``edits``.
"""
