"""The files of a build folder against what its design renders to now, and every check and validator of a network beside it."""
