"""The command ``fuse``, and how other commands take runs and judgements.

``command`` is the door; ``options`` has what ``rerank``, ``evaluate`` and ``tune`` share with it.
"""
