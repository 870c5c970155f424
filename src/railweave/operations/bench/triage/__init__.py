"""What is wrong with a run, from its output alone: what the Thor 2 guide's chapters 5 and 8.7.3 have a person look for."""
