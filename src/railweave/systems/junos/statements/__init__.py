"""Statements of Junos, one table a subject: each row prints, reads and explains a statement (``systems.junos.table``)."""
