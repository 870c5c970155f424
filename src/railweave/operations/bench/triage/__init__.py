"""Diagnosis of a run from its output: the faults that chapters 5 and 8.7.3 of the Thor 2 guide tell the operator to look for."""
