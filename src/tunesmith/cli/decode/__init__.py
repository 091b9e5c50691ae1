"""The command ``decode``.

``command`` is the door; ``inputs`` are the sentences, ``outputs`` what is written of them.
"""
