"""Failure campaigns: injection of faults into a running network, and measurement of their effect.

Configuration changes and shut ports have a rollback timer on the switch. Restarts of switches and ended daemons have no
timer, because the switch recovers from them without help.
"""
