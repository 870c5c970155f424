"""The page of a store of benchmarks' results."""
