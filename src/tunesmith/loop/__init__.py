"""Decode, merge, tune, and again: tuning with a decoder.

``loop`` is the place to begin; ``running`` is one run, and ``state`` keeps its steps.
"""
