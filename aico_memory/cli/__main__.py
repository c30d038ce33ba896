"""`python -m aico_memory.cli` is `aico-memory`."""

import sys

from aico_memory.cli import main

sys.exit(main())
