"""The ``build`` step: everything a network is written out as, and writing it whole or not at all."""
