"""Trials: what takes minutes or needs a whole lab, and is looked at by a person. ``__main__`` has the table of them."""
