"""From a network to the runs that prove it: pairs of NICs in rounds, collectives by suite, and what each should give."""
