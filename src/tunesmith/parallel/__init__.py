"""Work on several cores, with the same result for any number of them.

``engine`` is what others ask; ``local`` maps over pieces on threads, ``threads`` is that engine,
and ``choice`` says which engine a user means.
"""
