"""Exports of a design to inventory servers: NetBox and Nautobot by their REST APIs, or files for NetBox's import pages."""
