"""`python -m ggfmt`, and the console script."""

import sys

from ggfmt.without_pandas import do_without_pandas


def run() -> int:
    """The command line of this process; its exit code. Ctrl-C is told in a line also while modules are loaded."""
    do_without_pandas()
    try:
        from ggfmt.cli import main

        return main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
