"""The messages that NCCL and RCCL send between NICs for a collective, and which messages wait for which (docs/collectives.md)."""
