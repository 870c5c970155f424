"""Runs of the engines: which one, how it is fed and stopped, and what it gave."""
