"""What is tuned on: arrays, no behaviour beyond selection and merging."""
