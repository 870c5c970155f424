"""Configuration as trees for every operating system: how trees are compared, and how a change is represented."""
