"""The ``build`` step, which writes all files of a network, completely or not at all."""
