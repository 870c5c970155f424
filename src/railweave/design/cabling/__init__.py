"""Which port is joined to which: ports, cables, optics."""
