"""Connections to devices by SSH, NETCONF, eAPI, RESTCONF, gNMI, SNMP, or commands inside a lab's namespace.

- ``opening`` opens connections for queries. They refuse every query that is not known to be read-only.
- ``gnmi`` and ``snmp`` only read.
- The connections of ``change_session`` can change a device, and its function ``copied`` copies files to a device. Only
  ``operations.deploy`` uses them: it opens sessions through a ``Site`` (``live.site``, ``live.lab``), and copies images
  to switches for upgrades.
- ``ssh.connected`` logs in without any restriction. ``live.fleet`` and ``operations.bench`` run programs on servers
  with it.
"""
