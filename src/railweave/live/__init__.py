"""A running network, real or a lab.

Takes: ``Network``, ``access.yaml``, answers of switches and servers.
Gives: answers (``reach``), captures (``collect``), findings of the running network (``check``), verdicts of many servers (``fleet``), a
lab of routers and servers in namespaces (``lab``), and one value for a network that is reached or a lab (``site``).

Imports: ``host``, ``model``, ``pages``, ``systems``, ``design``, ``analysis``, ``outputs``.
"""
