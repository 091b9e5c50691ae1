"""Decode, merge, tune, and again: tuning with a decoder."""
