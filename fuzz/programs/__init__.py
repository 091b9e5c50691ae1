"""Random command lines on small random sets."""
