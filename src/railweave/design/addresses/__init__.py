"""Numbers and prefixes: of switches, links, server segments, NICs and tunnel endpoints."""
