"""Benchmarks: plans (``planning``), runs (``running``), results, comparisons (``comparing``) and diagnosis (``triage``).

The modules of this folder read the output of perftest, nccl-tests, rccl-tests, NCCL, RCCL and MLPerf, and tables. Each format has a module
that turns text into typed values, with the units in their names, and lists the parts it could not read. No reader raises an error, whatever
its input.
"""
