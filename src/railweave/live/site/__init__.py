"""A site: a running network, real or a lab, and how its devices are asked and changed. Makers from access.yaml and from a lab."""
