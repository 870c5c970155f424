"""Sizing: the creation of a fabric file for a number of GPUs.

Compares all shapes (topologies) without designing them, and computes the cost of growth.
"""
