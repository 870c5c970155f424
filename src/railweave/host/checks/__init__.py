"""Checks, run before a job, that a server matches its design. They change nothing, and read the server only through ``machine``.

Each topic, such as links or GPUs, has a module. ``outcome`` defines the outcomes of a check and the list of all checks;
``server`` runs the checks.
"""
