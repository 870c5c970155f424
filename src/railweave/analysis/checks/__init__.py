"""Offline checks of a network's consistency: one function per rule, and external validators."""
