"""``railweave collect``: queries every device of a network, and saves the answers as a capture (a folder).

In the code, a query is a ``Question``: one command or request that only reads.
"""
