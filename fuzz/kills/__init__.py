"""Runs that are killed at random moments and begun again."""
