"""Lists with ``|||`` between their fields, which the formats of several programs share.

``format`` is their base class, ``kernels`` parse the bytes.
"""
