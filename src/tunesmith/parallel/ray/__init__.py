"""Workers on a Ray cluster.

``engine`` is the door; ``cluster`` joins and leaves, ``worker`` is what runs on a node.
"""
