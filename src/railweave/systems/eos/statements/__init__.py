"""The statement tables of EOS."""
