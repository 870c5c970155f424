"""Pages of predictions."""
