"""Lists whose parts are with workers, each of which has its own and nothing of the others.

``hypotheses`` is what tuners ask and the place to begin: it keeps weights and asks all shards.
``shard`` is what a worker does with its part, ``questions`` are what is sent to it, ``envelopes``
what comes back along a line. ``pool`` reaches the shards, and has a lost one read again.
"""
