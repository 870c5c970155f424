"""Readers of benchmark output: perftest, nccl-tests, rccl-tests, logs of NCCL and RCCL, MLPerf logs, tables.

Each format has a module that turns text into typed values, with the units in their names, and lists the parts it could not read.
No reader raises an error, whatever its input.
"""
