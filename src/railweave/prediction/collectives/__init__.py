"""The messages that NCCL and RCCL send between NICs for a collective, and the messages for which each message waits (docs/engine.md)."""
