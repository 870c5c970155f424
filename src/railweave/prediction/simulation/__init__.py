"""Simulation of a designed network: its form for the engines (numbers, tables, parameters), the runs, and the predictions."""
