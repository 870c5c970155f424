"""A design in the files of other tools."""
