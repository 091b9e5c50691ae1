"""tunesmith in other libraries."""
