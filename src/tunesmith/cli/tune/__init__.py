"""The command ``tune``.

``command`` is the door; ``loop`` is what it does with a decoder.
"""
