"""Checks of a network's design and configurations without devices: one function per rule, and external validators."""
