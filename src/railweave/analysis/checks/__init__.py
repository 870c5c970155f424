"""Prove offline that a network agrees with itself: one function per rule, and outside validators."""
