"""Files of servers in a build folder, read and compared with the designed ones value by value.

``entries`` defines what a reader returns; every other module reads files of one form. ``comparison`` knows the form of each file.
"""
