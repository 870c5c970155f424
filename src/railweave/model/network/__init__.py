"""The value ``Network``: what is decided about a network, as a value and as ``design.json``. Nothing here decides."""
