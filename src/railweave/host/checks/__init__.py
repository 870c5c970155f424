"""Checks of a server before a job: is it what the design needs? Read-only, by the machine that ``machine`` shows.

A module for each subject; ``outcome`` has what a check says and the list of all, ``running`` runs them.
"""
