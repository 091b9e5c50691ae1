"""Metrics: statistics per candidate, and the score of their sum."""
