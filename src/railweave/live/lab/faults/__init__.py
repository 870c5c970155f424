"""Faults in a lab, and measurements during them."""
