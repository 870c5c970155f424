"""Checks of a design against the limits of switches, servers and protocols."""
