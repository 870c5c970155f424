"""The entry point of ``python -m railweave.host`` and of the zipapp (one executable file with the whole package)."""

import gc
import sys

# Values of 50,000 routes live until the end: to look through them for cycles again and again takes a quarter of the time.
gc.set_threshold(200_000, 50, 50)
try:
    from .commands import main
    from .terminal import protect

    protect()
    sys.exit(main())
except KeyboardInterrupt:  # while modules are loaded
    print("interrupted", file=sys.stderr)
    sys.exit(130)
