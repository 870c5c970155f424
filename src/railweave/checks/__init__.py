"""Prove offline that a network agrees with itself: one function per rule, and outside validators."""

from railweave.verb import make_verb

make_verb(__name__)
