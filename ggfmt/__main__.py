"""`python -m ggfmt`, and the console script."""

import atexit
import gc
import os
import sys
from contextlib import suppress

from ggfmt import signals
from ggfmt.out_of_memory import is_out_of_memory
from ggfmt.unused_modules import hide_unused_modules, uses_spark_connect

_MANY_OBJECTS = 50_000  # made since the last collection: ten megabytes
_STOPPED = 3  # as `ggfmt.diagnostics.diagnostic.STOPPED`, which may be impossible to import


def run() -> int:
    """Run the command line and return its exit code. A signal ends it with one line, even during imports."""
    atexit.register(_end)  # the first, so it is called last
    signals.install()
    # Imports, and libraries of lakehouses, make many objects, none of them garbage.
    gc.set_threshold(_MANY_OBJECTS, *gc.get_threshold()[1:])
    if not uses_spark_connect(sys.argv[1:]):
        hide_unused_modules()
    # numpy, where it is loaded, would start a thread per core for linear algebra. ggfmt has none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's memory would be in pages of 2 MB, each of which the system clears, even where little of it is used.
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    code = _main()
    signals.finish(code)
    return code


def _end() -> None:
    """End the process if the command has ended: all is reported and cleaned up.

    A thread of Arrow that frees an object while Python is torn down would abort the process (apache/arrow#34314), and
    one more signal would change the exit code.
    """
    code = signals.final_code()
    if code is not None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # closed, or its reader is gone
                stream.flush()
        os._exit(code)


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
    except Exception as error:  # before the command line is there, or when it reports an error
        if not is_out_of_memory(error):
            raise
        os.write(2, b"error[GG505] ggfmt has run out of memory\n")
        return _STOPPED


if __name__ == "__main__":
    sys.exit(run())
