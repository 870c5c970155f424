"""Simulation of a designed network: the conversion to the engines' arrays, the runs of the engines, and the predictions."""
