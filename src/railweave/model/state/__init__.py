"""The answers of devices: captures of them in folders."""
