"""``make trial NAME=bench``: plans carried out by real programs."""
