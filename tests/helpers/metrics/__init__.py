"""Helpers for the tests of metrics."""
