"""Exports of a design as files for other tools."""
