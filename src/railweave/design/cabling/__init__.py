"""Cabling: the pairs of ports that are connected, with their cables and optics."""
