"""``python -m railweave.host``, and the zipapp."""

import sys

from .commands import main

sys.exit(main())
