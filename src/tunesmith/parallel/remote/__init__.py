"""Workers in other processes, whatever starts them.

Start with ``engine``, the driver's side; ``worker`` is the other side. ``slots`` describes the
workers and requests to them, ``mapping`` and ``actors`` are the two ways to use them, ``broadcast``
sends data to each of them once, and ``processes`` starts them on this machine.
"""
