"""``make watch-trial``: `railweave watch` beside the programs that operators have."""
