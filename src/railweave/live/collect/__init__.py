"""``railweave collect``: every device of a network asked, and what it said as a capture."""
