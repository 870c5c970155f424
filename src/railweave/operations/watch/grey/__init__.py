"""Grey failures: ports that work, but worse than other ports of their kind (docs/watch.md)."""
