"""Benchmarks: plans (``planning``), runs (``running``), results, comparisons (``comparing``) and diagnosis (``triage``).

The modules of this folder read the output of perftest, nccl-tests, rccl-tests, NCCL, RCCL and MLPerf, and tables. The
module of a format turns text into typed values, with the units in their names, and lists the lines that it could not
read. A reader never raises an error, even for invalid input.
"""
