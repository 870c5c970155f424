"""A designed network as the engines take it: numbers for nodes, ports and addresses, forwarding tables, parameters."""
