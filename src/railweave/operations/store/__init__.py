"""The store of benchmark runs: one SQLite file, or a PostgreSQL database behind the same protocol.

A run is written in one transaction with its environment, its samples and its predictions. The database refuses any
later change of a row.
"""
