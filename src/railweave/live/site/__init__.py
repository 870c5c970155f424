"""A site: a running network, real or a lab, with the connections that query and change its devices.

A site is created from access.yaml or from a lab.
"""
