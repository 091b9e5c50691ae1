"""Exact search along a line, and the directions to search in."""
