"""Helpers for the tests of tuning loops."""
