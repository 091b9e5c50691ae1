"""Who produces candidates: programs, libraries, and pools that are known already."""
