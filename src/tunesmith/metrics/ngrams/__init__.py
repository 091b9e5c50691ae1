"""Counts of matching n-grams, which BLEU is made of.

``counts`` counts whole sets; ``tables`` holds the n-grams of references, for one text after the
other.
"""
