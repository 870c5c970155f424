"""Messages that NCCL and RCCL send between NICs for a collective, and the order they wait in (docs/collectives.md)."""
