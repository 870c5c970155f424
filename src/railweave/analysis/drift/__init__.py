"""Comparison of running configurations with the design.

Finds the differences and their effects on traffic, and can adopt them into the fabric file.
"""
