"""Cabling of the ports: which port is joined to which, with cables and optics."""
