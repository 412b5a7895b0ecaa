"""`python -m ggfmt`, and the console script."""

import os
import sys

from ggfmt import signals
from ggfmt.without_pandas import do_without_pandas


def run() -> int:
    """The command line of this process; its exit code. A signal ends it in a line also while modules are loaded."""
    signals.install()
    do_without_pandas()
    code = _main()
    signals.finish(code)
    _flush_standard_error()
    if signals.count():  # all is reported and cleaned up; at the end of Python, one more signal would change the code
        os._exit(code)
    return code


def _main() -> int:
    try:
        from ggfmt.cli import main
        from ggfmt.cli.output import occupy_closed

        occupy_closed()
        return main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write(f"{signals.interruption()}\n")
        return signals.exit_code()


def _flush_standard_error() -> None:
    """What cannot be written there is lost, and does not change the exit code at the end of the process."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        sys.stderr = None


if __name__ == "__main__":
    sys.exit(run())
