"""The exit codes of all commands, by number; the documents have their table from here."""

from __future__ import annotations

DONE, FINDINGS, USAGE, STOPPED, REJECTS, AFTER_COMMIT = range(6)
READER_GONE = 141  # as shells have it: 128, and the number of SIGPIPE

EXIT_CODES = {
    DONE: "done",
    FINDINGS: "errors in a handler file or in table definitions, a schema that has changed, "
    "or a problem of the machine",
    USAGE: "wrong usage, such as an unknown option, a missing input, or output that exists",
    STOPPED: "abend: the run was stopped, nothing was committed; or standard output cannot be written",
    REJECTS: "committed, with records set aside; or a preview that met such a record",
    AFTER_COMMIT: "committed, but something failed after that, as the message says: the next run ends the commit, "
    "or a report is not there",
    129: "interrupted by SIGHUP: nothing was committed; a signal that comes later ends with 5",
    130: "interrupted by Ctrl-C (SIGINT): nothing was committed; a signal that comes later ends with 5",
    READER_GONE: "the reader of standard output has gone, as of `ggfmt run ... -o - | head -1`; nothing is left behind",
    143: "interrupted by SIGTERM: nothing was committed; a signal that comes later ends with 5",
}
