"""Trials: what takes minutes and is looked at by a person. ``make trial NAME=set_up`` runs the module of that name."""
