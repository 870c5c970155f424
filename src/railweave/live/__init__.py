"""A running network, real or a lab.

Input: ``Network``, ``access.yaml``, answers of switches and servers. Output:

- connections to devices, to query or to change them (``reach``).
- captures: the stored answers of devices (``collect``).
- findings on the running network (``check``).
- results of checks on many servers (``fleet``).
- a lab of routers and servers in Linux network namespaces (``lab``).
- one interface to a running network, whether real or a lab (``site``).

Imports: ``host``, ``model``, ``pages``, ``systems``, ``design``, ``analysis``, ``outputs``.
"""
