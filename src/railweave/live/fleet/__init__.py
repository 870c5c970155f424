"""``railweave host`` on many servers at once, over SSH: checks, probes between servers, and changes.

- ``running`` copies the program to the servers and runs it.
- ``checked`` has the results of `railweave host check`: shared failures, and servers that differ.
- ``probes``, ``meshed`` and ``rdma`` send packets between servers, and find what failed packets have in common.
- ``transaction`` changes servers, for ``operations.deploy``. The other modules leave servers unchanged.
"""
