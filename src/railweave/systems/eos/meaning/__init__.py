"""Conversion between EOS's statements and the configuration."""
