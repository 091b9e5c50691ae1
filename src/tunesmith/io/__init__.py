"""Files: one module per format, in ``lists``, ``tables``, ``forests`` and ``weights``.

``read`` and ``write`` work whatever the format; ``streams`` opens files, ``collector`` is what the
readers of lists and tables fill, and ``text`` has what is read from bytes: words, numbers, JSON.
"""
