"""The models of the input files (fabric file, inventory, scenario, job file, study and lock), their units and line-numbered errors.

Users write these files, except the lock, which ``build`` writes.
"""
