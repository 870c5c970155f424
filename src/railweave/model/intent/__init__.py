"""The models of the input files (fabric file, inventory, scenario, job file, study and lock), and errors with line numbers.

Users write these files, except the lock, which ``build`` writes.
"""
