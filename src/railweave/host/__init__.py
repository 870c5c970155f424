"""The program on a GPU server: routing tables and rules, RDMA GIDs, a job's environment, checks and counters.

Input: ``host.json`` and the state of the server. Output: the changes made, findings, and metrics.

The package needs only the Python standard library (3.9 or newer, as on an air-gapped Ubuntu 22.04) and iproute2, and
nothing else of railweave. ``python -m railweave.host``, the zipapp that `railweave host zipapp` writes, and
``railweave host`` are the same program.

Data flow: ``host_file`` reads the plan (the designed routes and rules), and ``kernel`` reads the present routes and rules.
``changes`` compares the two; the ``journal`` records the entries that railweave has added. ``apply`` makes the changes;
after a failure, it restores the earlier state.

Imports: no other top-level package of railweave.
"""

__version__ = "0.2.0"
