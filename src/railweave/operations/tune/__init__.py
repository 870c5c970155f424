"""Studies of fabric file values: find values that make jobs faster, try them on the simulator, and write a patch of the file."""
