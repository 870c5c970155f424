"""Studies of fabric file values: find values that make jobs faster, try them in the simulator or on hardware, and write a patch of the file."""
