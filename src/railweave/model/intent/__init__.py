"""The input files: fabric file, inventory, scenario, job file, study and lock. Here are their models, units and line-numbered errors.

Users write these files, except the lock, which ``build`` writes.
"""
