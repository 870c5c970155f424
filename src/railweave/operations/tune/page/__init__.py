"""What a study found, as one page."""
