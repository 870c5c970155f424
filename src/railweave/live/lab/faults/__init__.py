"""Faults in a lab, and what is measured meanwhile."""
