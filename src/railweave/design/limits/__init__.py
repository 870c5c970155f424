"""The capacities of switches, hosts and protocols, and the demands of a design on them."""
