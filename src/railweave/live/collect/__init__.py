"""``railweave collect``: asks every device of a network questions, and saves the answers as a capture."""
