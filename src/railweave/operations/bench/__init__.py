"""Outputs of benchmarks as typed values: perftest, nccl-tests, rccl-tests, logs of NCCL and RCCL, MLPerf logs, tables.

Each form has a module that takes text and gives values with their units in their names, and notes of what it did not
understand. No reader raises, whatever it is given.
"""
