"""A fuzz campaign: damaged files, random command lines, faults of the system, and kills."""
