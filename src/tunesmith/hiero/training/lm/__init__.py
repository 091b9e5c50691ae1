"""Interpolated modified Kneser-Ney language models.

``kneser_ney`` is the door.
"""
