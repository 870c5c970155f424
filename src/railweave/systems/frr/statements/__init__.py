"""Statements of FRR, subject by subject: each module has tables of rows (``model.config.statements``).

A row's source is a section of FRR's manual.
"""
