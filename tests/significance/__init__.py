"""Tests of significance/."""
