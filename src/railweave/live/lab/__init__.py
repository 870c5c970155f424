"""The designed network in a lab: FRR and servers in network namespaces, for tests and faults (docs/lab.md)."""
