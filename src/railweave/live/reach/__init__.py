"""Protocols for querying a device: SSH, NETCONF, eAPI, RESTCONF, and commands inside a lab's namespace.

Nothing here can change a device.
"""
