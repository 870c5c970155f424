"""Diagnosis of a run from its output, for the faults that chapters 5 and 8.7.3 of the Thor 2 guide describe."""
