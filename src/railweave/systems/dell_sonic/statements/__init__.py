"""Statements of Enterprise SONiC, subject by subject: each module has tables of rows (``model.config.statements``).

A row's source is a public document:

- ``guide``: the Thor2 guide, sections 2.4.1.3 and 2.5.2;
- ``ansible``: the collection dellemc.enterprise_sonic, in the examples of the module named;
- ``spytest``: the test library of sonic-net/sonic-mgmt, whose ``klish`` commands are those of this command line;
- ``acl``: "ACL enhancements and flow based services" of sonic-net/SONiC, section 3.6.2.
"""
