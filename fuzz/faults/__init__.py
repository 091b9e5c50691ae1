"""Faults of the system: the n-th open, write, rename, allocation ... of a command fails."""
