"""An existing network's running configurations to a fabric file."""
