"""A designed network in the form that the engines take: numbers of nodes, ports and addresses, tables and parameters."""
