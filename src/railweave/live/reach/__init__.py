"""Protocols for asking a device: SSH, NETCONF, eAPI, RESTCONF, a command inside a lab's namespace.

Nothing here can change a device.
"""
