"""The entry point of ``python -m railweave.host`` and of the zipapp."""

import gc
import sys

from .commands import main

# Values of 50,000 routes live until the end: to look through them for cycles again and again takes a quarter of the time.
gc.set_threshold(200_000, 50, 50)
sys.exit(main())
