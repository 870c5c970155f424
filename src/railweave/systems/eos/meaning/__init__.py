"""Inference between EOS' statements and the configuration."""
