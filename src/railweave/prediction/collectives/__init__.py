"""The messages that NCCL and RCCL send between NICs for a collective, and the order in which these messages wait for each other.

docs/engine.md describes the model.
"""
