"""The best derivations of forests, lazily; no text twice.

``search`` is the door.
"""
