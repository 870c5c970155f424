"""Checks of many servers at once: `railweave host check` on each over SSH, and the common causes of failures.

``running`` copies the program to the servers and runs it. ``checked`` finds shared failures and servers that differ.
"""
