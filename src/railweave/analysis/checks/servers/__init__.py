"""Files of servers as they stand in a build folder, read, and compared with the designed ones value by value.

``entries`` says what a reader gives; every other module reads files of one form. ``comparison`` knows which file has which form.
"""
