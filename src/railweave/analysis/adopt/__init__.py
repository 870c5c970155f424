"""Import of an existing network: running configurations become a fabric file."""
