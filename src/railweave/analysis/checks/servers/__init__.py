"""Comparison of server files in a build folder with the designed files, value by value.

``entries`` defines the common form in which all readers return the content of a file. Every other module reads one type of
file. ``comparison`` knows the reader of each file name.
"""
