"""Cabling: the choice of the ports that each cable connects, and of cables and optics."""
