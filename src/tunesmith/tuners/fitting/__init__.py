"""What happens around every algorithm.

``stages`` evaluates runs and settings and chooses among them, ``result`` is what comes out,
``callbacks`` are told how it goes, ``guards`` warn.
"""
