"""Tuners: one module or package per algorithm.

``base`` has :class:`Tuner`, and the registry; ``fitting`` is what happens around every algorithm.
"""
