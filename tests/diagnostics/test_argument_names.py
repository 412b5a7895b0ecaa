"""Errors of Python functions name arguments where those of commands name options."""

from __future__ import annotations

import pytest

from ggfmt.diagnostics.argument_names import ArgumentName, arguments_named, current_names, with_arguments
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic

NAMES = {
    "--mode": ArgumentName("mode"),
    "-o": ArgumentName("output"),
    "--history": ArgumentName("history", "flag"),
    "--settle": ArgumentName("settle", "number"),
    "--set": ArgumentName("settings", "pairs"),
    "--input-option": ArgumentName("input_options", "keywords"),
}


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("give `--mode append`", 'give `mode="append"`'),
        ("`--mode` and `-o -`", '`mode` and `output="-"`'),
        ("leave out `--history`", "leave out `history=True`"),
        ("with `--settle 5`", "with `settle=5`"),
        ("`--set 'a.b=c d'`, `--set x`", '`settings={"a.b": "c d"}`, `settings={"x": ...}`'),
        ("`--input-option encoding=x`", '`encoding="x"`'),
        ("`--other x`, `ggfmt run --mode append`, --mode", "`--other x`, `ggfmt run --mode append`, --mode"),
    ],
)
def test_options_become_arguments(text: str, translated: str) -> None:
    diagnostic = Diagnostic("GG501", text, help=text)
    assert with_arguments(diagnostic, NAMES) == Diagnostic("GG501", translated, help=translated)
    assert with_arguments(Diagnostic("GG501", text), NAMES).help is None


def test_an_error_of_a_block_names_arguments() -> None:
    def source() -> dict[str, ArgumentName]:
        return NAMES

    @arguments_named(source)
    def fail() -> None:
        assert current_names() is source
        raise Abend("GG501", "give `--mode append`")

    with pytest.raises(Abend) as caught:
        fail()
    assert str(caught.value) == 'error[GG501] give `mode="append"`'
    assert caught.value.args == caught.value.diagnostics
    assert current_names() is None
    with pytest.raises(Abend, match="--mode append"), arguments_named(None):
        raise Abend("GG501", "give `--mode append`")
