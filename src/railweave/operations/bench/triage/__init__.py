"""Diagnosis of a run from its output. The diagnosed faults are those of chapters 5 and 8.7.3 of the Thor 2 guide."""
