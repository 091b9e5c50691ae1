"""Helpers for the tests of reports."""
