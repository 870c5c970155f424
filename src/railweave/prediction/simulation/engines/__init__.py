"""Runs of the engines: the choice of the engine, its input and results, and the early end of a run."""
