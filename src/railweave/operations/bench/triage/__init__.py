"""The diagnosis of a run from its output only: faults that the Thor 2 guide's chapters 5 and 8.7.3 tell the operator to look for."""
