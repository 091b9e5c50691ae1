"""Helpers for the tests of searches."""
