"""Runs of the simulation engines (packets or flows): the choice of the engine, its input and results, and the early end of a run."""
