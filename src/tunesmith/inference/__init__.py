"""What a model can be asked about its candidates."""
