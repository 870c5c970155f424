"""A designed network in the engines' form: numbers of nodes, ports and addresses, with tables and parameters."""
