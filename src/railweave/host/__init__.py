"""The program of a GPU server: routing tables and rules, RDMA GIDs, a job's environment, checks and counters.

Takes: ``host.json``, and what the server shows.
Gives: what it changed, findings, metrics.

The wing stands alone: the Python standard library (3.9 or newer, as on an air-gapped Ubuntu 22.04) and iproute2, nothing
else of railweave. ``python -m railweave.host`` and the zipapp that ``bundle`` writes are the same program as
``railweave host``.

The way of a value: ``host_file`` reads the plan; ``kernel`` reads what is there; ``changes`` compares the two with what
the ``journal`` says is ours; ``apply`` carries the difference out, or leaves everything as it was.

Imports: no other wing.
"""

__version__ = "0.1.0"
