"""What NCCL and RCCL put on the network for a collective: messages between NICs, and what waits for what (docs/collectives.md)."""
