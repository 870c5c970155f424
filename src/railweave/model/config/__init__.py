"""Configuration as trees, whatever the operating system: how they are compared, and what a change is."""
