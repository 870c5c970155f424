"""Rows of ``config_db.json`` as statements, subject by subject: each module has tables of rows (``model.config.statements``).

A row of the file is a header, its table and the parts of its key, with a line for each field: ``VLAN_MEMBER Vlan2 Ethernet0`` and below
it ``tagging_mode untagged`` (``tables.to_sections``). A list is its parts with commas.

The source of a row is its model in ``src/sonic-yang-models`` of sonic-net/sonic-buildimage, unless another is named.
"""
