"""Sizing: from a number of GPUs to a fabric file. Counts every shape before there is a design, and the cost of growth."""
