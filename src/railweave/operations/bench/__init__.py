"""Benchmarks: plans (``planning``), runs (``running``), results, comparisons (``comparing``) and diagnosis (``triage``).

The modules of this folder read the output of perftest, nccl-tests, rccl-tests, NCCL, RCCL and MLPerf, and tables. For
each format, a module turns the text into Python objects, with units in the names of fields, and lists the lines that it
could not read. A reader never raises an error, even for invalid input.
"""
