"""Formats of programs that sample and judge answers of language models.

Begin with ``mbrs``, the smallest. ``values`` has what readers of their JSON share.
"""
