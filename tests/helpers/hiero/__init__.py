"""Helpers for the tests of the hierarchical decoder."""
