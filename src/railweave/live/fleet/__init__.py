"""Servers, many at once: `railweave host check` on each of them over SSH, and what their verdicts have in common.

``running`` carries the program to the servers and runs it; ``checked`` finds what failures share and who differs from the rest.
"""
