"""``railweave host`` on many servers at once, over SSH: checks, probes between servers, and changes.

- ``running`` copies the program to the servers and runs it.
- ``checked`` summarizes `railweave host check` on all servers: the parts of the network that failures have in common, and servers that
  differ.
- ``probes``, ``meshed`` and ``rdma`` send packets between servers, and find the parts of the network that failed packets have in common.
- ``transaction`` changes servers, for ``operations.deploy``. The other modules leave servers unchanged.
"""
