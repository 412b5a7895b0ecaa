"""`python -m ggfmt`, and the console script."""

import sys


def run() -> int:
    """The command line of this process; its exit code. Ctrl-C is told in a line also while modules are loaded."""
    # Arrow loads pandas, where it is installed, with the first array that it makes: a third of a second for nothing.
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]
    try:
        from ggfmt.cli import main

        return main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
