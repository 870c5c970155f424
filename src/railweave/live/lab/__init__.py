"""The designed network in a lab: FRR routers and servers in network namespaces, for tests and fault injection (docs/lab.md)."""
