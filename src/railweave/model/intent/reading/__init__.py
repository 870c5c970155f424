"""Files as text and as YAML whose every value knows its line; what is wrong with them, in their words."""
