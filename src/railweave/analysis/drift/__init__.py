"""Comparison of running configurations with the design.

This package finds the differences and their effects on traffic. It can add statements that only devices have to the
fabric file.
"""
