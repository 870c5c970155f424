"""Import of an existing network: running configurations are converted to a fabric file."""
