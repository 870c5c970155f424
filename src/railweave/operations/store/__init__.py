"""Runs of benchmarks, kept: one SQLite file, or a PostgreSQL database behind the same protocol.

A run, its environment, its samples and what was predicted for it are written together or not at all, and never changed
afterwards: the databases themselves refuse it.
"""
