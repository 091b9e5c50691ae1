"""Formats of tables with one row per candidate: CSV, Parquet, Arrow, data frames.

``base`` says which columns mean what; begin there.
"""
