"""Comparisons of benchmark results with other results and with predictions: slow pairs, regressions, verdicts and likely causes."""
