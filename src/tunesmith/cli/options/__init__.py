"""Options that several commands share.

``common`` has those of candidates and metrics, ``forests`` those of forests, ``engine`` those of
execution.
"""
