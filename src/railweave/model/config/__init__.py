"""Configurations of every operating system as trees of statements: their comparison, and the representation of a change."""
