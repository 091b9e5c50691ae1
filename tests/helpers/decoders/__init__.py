"""Helpers for the tests of decoders: ``programs/`` and ``standins/`` are run, not imported."""
