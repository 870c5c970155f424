"""``railweave collect``: questions to every device of a network, and a capture of the answers."""
