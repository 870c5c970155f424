"""Comparison of server files in a build folder with the designed files, value by value.

``entries`` defines the result of a reader. Every other module reads files of one form. ``comparison`` knows the form of
each file.
"""
