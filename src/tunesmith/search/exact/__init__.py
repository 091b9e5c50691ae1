"""Exact global search, and bounds on what any weights can reach (LP-MERT).

``problem`` is what the searches see, ``extreme`` tells whether a choice of candidates can win;
``search`` is the door. It goes depth first through ``cones``, or by ``bisection`` where there are
few features. ``lazy`` and ``beam`` are the paper's own algorithms.
"""
