"""What devices said: captures of it in folders."""
