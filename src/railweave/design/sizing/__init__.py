"""Sizing: from a number of GPUs to a fabric file. It compares all shapes, before there is a design, and computes the cost of growth."""
