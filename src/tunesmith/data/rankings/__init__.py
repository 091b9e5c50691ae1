"""Rankings: the documents of queries with the scores of several runs, and how these are compared.

Begin with ``rankings``; ``normalisation`` makes features of scores, ``building`` rankings
of runs and judgements.
"""
