"""Studies over the fabric file's own fields: which values make jobs faster, tried on the simulator, given as a patch of the file."""
