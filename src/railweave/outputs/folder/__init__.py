"""The ``build`` step, which writes all files of a network, as a whole or not at all."""
