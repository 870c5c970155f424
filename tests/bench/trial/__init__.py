"""``make bench-trial``: plans carried out by real programs."""
