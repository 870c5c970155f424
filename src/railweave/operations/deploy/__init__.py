"""Deployment of a design to running devices with plans, waves, a journal and rollback.

Code for specific operating systems is in ``systems``.
"""
