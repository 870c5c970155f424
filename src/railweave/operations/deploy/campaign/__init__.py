"""A failure campaign: break parts of running switches on purpose, with a rollback timer on each, and measure the effect."""
