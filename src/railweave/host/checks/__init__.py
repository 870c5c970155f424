"""Read-only checks, before a job, that a server is as designed. They read the server only through ``machine``.

Each subject has a module. ``outcome`` defines the outcomes of a check and the list of all checks; ``server`` runs
them.
"""
