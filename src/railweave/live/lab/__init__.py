"""The designed network on real routing daemons: FRR and servers in network namespaces, tested and broken (docs/lab.md)."""
