"""Comparisons of results with other results and with predictions: pairs, regressions, verdicts and likely causes."""
