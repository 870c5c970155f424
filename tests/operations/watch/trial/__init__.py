"""``make trial NAME=watch``: `railweave watch` beside the programs that operators have."""
