"""Studies over the fabric file's own fields: find values that make jobs faster, try them on the simulator, and give a patch of the file."""
