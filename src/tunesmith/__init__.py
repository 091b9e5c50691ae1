"""tunesmith."""
