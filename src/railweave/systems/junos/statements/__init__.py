"""Statement tables of Junos, which describe each statement once (``systems.junos.table``).

railweave uses a row of a table to print a statement, to read it and to explain it.
"""
