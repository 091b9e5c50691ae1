"""Who produces candidates: programs, libraries, and pools that are known already.

``base`` has :class:`Decoder` and the registry; ``external`` is the base of those that are programs.
"""
