"""A plan carried out, against processes."""
