"""Failure campaigns: break parts of running switches on purpose, and measure the effect.

Configuration changes and shut ports have a rollback timer on the switch. Restarts of switches and ended daemons have none: the switch itself
brings them back.
"""
