"""Offline checks that a network is consistent: one function per rule, and external validators."""
