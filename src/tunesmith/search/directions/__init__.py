"""Which lines a climb searches: one module per kind of direction finder.

``base`` has :class:`Climb`, the protocol and the registry; begin there. ``stopping`` says when
a climb ends.
"""
