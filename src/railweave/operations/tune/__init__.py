"""Studies that search for values of fabric file fields that make jobs faster.

Values are tried in the simulator or on hardware; the result is a patch of the file.
"""
