"""A designed network as the engines take it: numbers for nodes, ports and addresses, forwarding tables, parameters."""

from railweave.verb import make_verb

make_verb(__name__)
