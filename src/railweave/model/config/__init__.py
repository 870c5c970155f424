"""Configuration trees of every operating system: their comparison, and the representation of a change."""
