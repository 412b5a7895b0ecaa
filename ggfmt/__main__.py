"""`python -m ggfmt`: the same as the console script."""

from ggfmt.cli import main

main()
