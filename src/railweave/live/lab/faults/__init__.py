"""Injection of faults in a lab, and measurements during the faults."""
