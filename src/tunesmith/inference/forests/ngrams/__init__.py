"""What BLEU counts in forests.

``counts`` has the n-grams of hyperedges, ``exact`` the statistics of whole derivations; ``split``
and ``contexts`` split nodes by the words at their ends.
"""
