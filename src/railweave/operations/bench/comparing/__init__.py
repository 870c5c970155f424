"""Results laid beside each other and beside what was predicted: pairs, regressions, verdicts, and what is likely to blame."""
