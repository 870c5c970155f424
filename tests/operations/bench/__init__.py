"""Outputs of benchmarks: what is read of them, kept, and found wrong."""
