"""Workers in other processes, whatever starts them.

``engine`` is the driver's side and the place to begin; ``worker`` is the other side. ``slots``
holds the workers and replaces those that die, ``mapping`` and ``actors`` are the two ways to use
them, ``broadcast`` brings data to each of them once, and ``processes`` starts them on this machine.
"""
