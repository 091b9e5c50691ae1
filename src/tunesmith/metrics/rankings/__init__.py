"""Metrics of rankings, as trec_eval defines them.

Begin with ``metric``; ``terms`` says what a relevant document adds to a query's value at a
rank, which is all that a line search needs.
"""
