"""Helpers for the tests of inference on lists and forests."""
