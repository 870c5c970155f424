"""A failure campaign: what is broken on purpose on running switches, with a way back armed on each, and what that does."""
