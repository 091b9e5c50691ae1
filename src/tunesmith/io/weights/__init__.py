"""Formats of weights files: one module per format.

``files`` reads and writes weights whatever the format; ``base`` has the protocol and the registry.
"""
