"""Failure campaigns: break parts of running switches on purpose, under a rollback timer, and measure the effect."""
