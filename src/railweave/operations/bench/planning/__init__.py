"""Planning of the runs that test a network: pairs of NICs in rounds, collectives by suite, and the expected results."""
