"""Statement tables of Enterprise SONiC. A table has a row for each statement; each module has the tables of one topic.

``model.config.statements`` explains such tables. Each row names its source, a public document:

- ``guide``: the Thor2 guide, sections 2.4.1.3 and 2.5.2;
- ``ansible``: the collection dellemc.enterprise_sonic, in the examples of the module named;
- ``spytest``: the test library of sonic-net/sonic-mgmt, whose ``klish`` commands are commands of this command line;
- ``acl``: "ACL enhancements and flow based services" of sonic-net/SONiC, section 3.6.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.dell_sonic.statements.bgp import ROUTING
from railweave.systems.dell_sonic.statements.control_plane import LISTS
from railweave.systems.dell_sonic.statements.management import SYSTEM
from railweave.systems.dell_sonic.statements.policy import POLICIES
from railweave.systems.dell_sonic.statements.ports import INTERFACES, SHARED, SPLITS
from railweave.systems.dell_sonic.statements.qos import BALANCING, QOS

if TYPE_CHECKING:
    from railweave.model.config.statements import Statements

TABLES: tuple[Statements[Any], ...] = (SYSTEM, SPLITS, QOS, BALANCING, SHARED, LISTS, INTERFACES, POLICIES, ROUTING)
"""The tables of all statements at the top level of the configuration."""
