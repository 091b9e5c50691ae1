"""Helpers for the tests of tuners."""
