"""Fuzzing: a harness for every parser of something that a person, a device or a network gave.

``parsers.py`` has a row for each parser, ``mutators.py`` makes odd inputs of good ones, ``driver.py`` reads them and counts. An
input is read or refused with an error of railweave's that says where; any other exception, 20 seconds of the processor, or
2 GiB of memory for one input are a failure. More than half of the inputs of a parser pass its first check (they are YAML or JSON,
with the right keys at the top), so that what comes after it is tried too.

- ``test_parsers.py``: the same few inputs in every run of the tests.
- ``make fuzz FUZZ_SECONDS=3600``, or ``python -m tests.fuzz --seconds 3600``: for an hour, with a table of figures.
- ``python -m tests.fuzz NAME FILE``: read one input again, for example one that a failure has left.
"""
