"""The ``build`` step: everything a network is written out as, and writing it whole or not at all."""

from railweave.verb import make_verb

make_verb(__name__)
