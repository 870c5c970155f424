"""Runs of the engines: the choice of the engine, its input, when it stops, and its results."""
