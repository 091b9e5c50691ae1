"""Helpers for the tests of file formats."""
