"""Damaged files of every format that is read."""
