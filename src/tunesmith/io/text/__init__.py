"""Bytes as text: what the readers and writers of all formats share.

``tokens`` finds words in bytes and ``numbers`` parses values; begin there. ``utf8``, ``pieces`` and
``json_lines`` are for texts and JSON.
"""
