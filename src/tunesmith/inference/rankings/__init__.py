"""Rankings under given weights: values of queries, and how they change along a line.

Begin with ``hypotheses``. Below it are ``values`` (what rankings are worth), ``events``
(where along a line that changes) and ``layers`` (which documents can reach the top).
"""
