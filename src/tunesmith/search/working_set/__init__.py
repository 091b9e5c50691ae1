"""The quadratic programme of MIRA and AROW for one sentence.

``solver`` is the door.
"""
