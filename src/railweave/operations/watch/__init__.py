"""A network that is watched: samples of its devices, the store that keeps them, and what is not as designed."""
