"""The conversion of a designed network to the engines' form: numbered nodes, ports and addresses, tables and parameters."""
