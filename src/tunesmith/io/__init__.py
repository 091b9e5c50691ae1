"""Files: one module per format."""
