"""The picture of a network."""
