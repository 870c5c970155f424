"""The messages that NCCL and RCCL send between NICs for a collective, and for each message the messages that it waits for (docs/engine.md)."""
