"""``DeviceConfig`` to forwarding tables and the paths of queue pairs: what the control plane will do."""

from railweave.verb import make_verb

make_verb(__name__)
