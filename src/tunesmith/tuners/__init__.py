"""Tuners: one module per algorithm."""
