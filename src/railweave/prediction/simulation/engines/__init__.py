"""Runs of the engines: the choice of the engine, its input, its results, and when a run is stopped."""
