"""What is maximised beside the metric alone."""
