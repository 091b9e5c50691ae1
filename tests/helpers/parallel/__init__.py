"""Helpers for the tests of engines."""
