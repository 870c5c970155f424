"""Sizing: creation of a fabric file for a number of GPUs.

It compares all shapes (topologies) without designing them, and computes the cost of growth.
"""
