"""Fixes of handler files: what is fixed, and that nothing else of a file changes."""

from __future__ import annotations

import pytest

from ggfmt.config.event_handlers import EVENT_HANDLER_TYPES
from ggfmt.config.handler_types import HANDLER_TYPES
from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import lint

# Names with `*` for any text

_PATTERNS = [
    *(
        (f"gg.handler.k.type={type.name}\ngg.handler.k.", name)
        for type in HANDLER_TYPES.values()
        for name in type.names
    ),
    *(
        (f"gg.eventhandler.e.type={type.name}\ngg.eventhandler.e.", known.name)
        for type in EVENT_HANDLER_TYPES.values()
        for known in type.own.properties
    ),
]
_PATTERNS = [(head, name) for head, name in _PATTERNS if "*" in name]


@pytest.mark.parametrize(("head", "pattern"), _PATTERNS)
def test_names_that_fit_one_pattern_are_several_properties(head: str, pattern: str) -> None:
    type, _, prefix = head.partition("\n")
    start = "gg.handlerlist=k\ngg.handler.k.format=json\ngg.handler.k.eventHandler=e\n"
    one, other = (f"{prefix}{pattern.replace('*', middle)}" for middle in ("Some", "Other"))
    text = f"{start}{type}\n{one}=1\n{other}=2\n"
    assert "GG107" not in {finding.code for finding in lint(text.encode(), "f")}
    assert fix_file(text.encode(), "f", unsafe=True).content == text.encode()
    again = f"{text}{one.replace('Some', 'SOME')}=3\n"  # the case of a name does not matter
    if "partitioner" not in pattern:  # behind it is the name of a table
        assert "GG107" in {finding.code for finding in lint(again.encode(), "f")}
