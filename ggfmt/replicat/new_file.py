"""A new parameter file: the parameters that decide about messages, each with what it does."""

from __future__ import annotations

import textwrap

from ggfmt.replicat.table import MessageEffect, Section, all_entries

NAME = "replicat"
_WIDTH = 118
_HEAD = """\
-- The parameter file of a Replicat of GoldenGate for Big Data: save it as dirprm/rkafka.prm, and its handler file as
-- dirprm/rkafka.props. `ggfmt validate-config dirprm` checks both. Lines that begin with `--` are comments.
"""
# What a new file has; other parameters are comments. INCLUDE, OBEY and MACRO are for texts of several files.
_GIVEN = {
    "REPLICAT": "REPLICAT rkafka",
    "TARGETDB": "TARGETDB LIBFILE libggjava.so SET property=dirprm/rkafka.props",
    "GROUPTRANSOPS": "GROUPTRANSOPS 1000",
    "MAP": "MAP *.*, TARGET *.*;",
}
_LEFT_OUT = ("INCLUDE", "OBEY", "MACRO", "MACROCHAR", "SETENV", "CHARSET")


def parameter_file() -> str:
    """Return a parameter file; MAP is its last statement, because parameters hold for the MAPs after them."""
    known = [entry for entry in all_entries() if entry.section is Section.PARAMETER]
    known = [entry for entry in known if entry.effect is MessageEffect.DECIDES and entry.names[0] not in _LEFT_OUT]
    parts = [_HEAD]
    for entry in sorted(known, key=lambda entry: entry.names[0] == "MAP"):
        default = f" Default: {entry.default}." if entry.default else ""
        comment = textwrap.wrap(f"{entry.doc}{default}", _WIDTH, initial_indent="-- ", subsequent_indent="-- ")
        name = next(name for name in (*entry.names, entry.default) if name != entry.default or len(entry.names) == 1)
        line = _GIVEN.get(name) or f"-- {name} {entry.form}".rstrip()
        parts.append("\n".join((*comment, line, "")))
    return "\n".join(parts)
