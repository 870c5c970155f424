"""Readers of text and YAML files that record the line of every value, so that errors can point at it."""
