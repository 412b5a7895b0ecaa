"""`python -m ggfmt`: the same as the console script."""

import sys

from ggfmt.cli import main

sys.exit(main())
