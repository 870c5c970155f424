"""A running network, real or a lab.

Takes: ``Network``, ``access.yaml``, answers of switches and servers.

Gives:

- connections to devices, to ask or to change them (``reach``).
- captures of answers (``collect``).
- findings of the running network (``check``).
- verdicts of many servers (``fleet``).
- a lab of routers and servers in namespaces (``lab``).
- one value for a running network, real or a lab (``site``).

Imports: ``host``, ``model``, ``pages``, ``systems``, ``design``, ``analysis``, ``outputs``.
"""
