"""The limits of switches, hosts and protocols, checked against the design."""
