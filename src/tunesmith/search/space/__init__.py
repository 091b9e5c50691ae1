"""The weights that a search may take.

``constraints`` is what users write, ``space`` what searches ask, ``builder`` the way between.
"""
