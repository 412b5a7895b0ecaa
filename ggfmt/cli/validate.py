"""`ggfmt validate-config`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from ggfmt.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from ggfmt.config.lint.files import HandlerFile

FindingsFormat = Literal["text", "json", "github", "sarif", "junit"]


def validate_config(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Handler files, directories of them, globs, or `-` for standard input."),
    ],
    output_format: Annotated[
        FindingsFormat, typer.Option("--output-format", help="How to print the findings.")
    ] = "text",
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 for warnings too.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Put the fixes into the files; what remains is printed.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the fixes as a patch; findings go to standard error.")
    ] = False,
) -> None:
    """Check handler files, and mend what can be mended.

    `ggfmt validate-config conf/json.properties`

    `ggfmt validate-config conf --strict --output-format github`

    `ggfmt validate-config conf --fix`

    `ggfmt validate-config conf --diff | patch -p1`

    Ends with 1 if there are errors, or warnings and `--strict`; with 2 if a file is missing. With `--fix`, what
    remains counts.
    """
    from ggfmt.config.lint.files import STANDARD_INPUT, find_sources
    from ggfmt.config.lint.linter import lint
    from ggfmt.diagnostics.codes import Severity

    if fix and STANDARD_INPUT in files:
        raise typer.BadParameter("standard input cannot be written; use `--diff`", param_hint="--fix")
    sources = find_sources(files, sys.stdin.buffer)
    found: dict[str, Sequence[Diagnostic]] = {}
    for source in sources.found:
        found[source.name] = _mended(source, fix, diff) if fix or diff else lint(source.content, source.name)
    _print(found, output_format, sys.stderr if diff else sys.stdout)
    sys.stdout.flush()
    typer.echo(_summary(found), err=True)
    if sources.passed_over:
        typer.echo(_passed_over(sources.passed_over), err=True)
    severities = {finding.severity for findings in found.values() for finding in findings}
    if Severity.ERROR in severities or (strict and Severity.WARNING in severities):
        raise typer.Exit(1)


def _mended(source: HandlerFile, fix: bool, diff: bool) -> Sequence[Diagnostic]:
    """Write or show the fixes of a file; what is found in it afterwards."""
    from ggfmt.config.lint.fix import mend, patch, write_file
    from ggfmt.config.lint.linter import lint
    from ggfmt.java.text import visible
    from ggfmt.render.patches import print_patch

    mended = mend(source.content, source.name)
    if diff:
        print_patch(patch(source.name, source.content, mended.content), sys.stdout)
    if not fix or source.path is None:
        return lint(source.content, source.name)
    if mended.content != source.content:
        failure = write_file(source.path, mended.content)
        if failure is not None:
            return (failure, *lint(source.content, source.name))
        typer.echo(f"fixed {_count(mended.keys, 'key')} in {visible(source.name)}", err=True)
    return mended.findings


def _print(found: Mapping[str, Sequence[Diagnostic]], output_format: FindingsFormat, stream: TextIO) -> None:
    from ggfmt.render.diagnostics.text import diagnostics_json, print_diagnostics, write_text

    findings = [finding for of_file in found.values() for finding in of_file]
    if output_format == "text":
        print_diagnostics(findings, stream)
    elif output_format == "json":
        write_text(diagnostics_json(findings), stream)
    elif output_format == "github":
        from ggfmt.render.diagnostics.github import diagnostics_github

        write_text(diagnostics_github(findings), stream)
    elif output_format == "sarif":
        from ggfmt.render.diagnostics.sarif import diagnostics_sarif

        write_text(diagnostics_sarif(findings), stream)
    else:
        from ggfmt.render.diagnostics.junit import diagnostics_junit

        write_text(diagnostics_junit(found), stream)


def _summary(found: Mapping[str, Sequence[Diagnostic]]) -> str:
    from ggfmt.render.diagnostics.text import tally

    return f"{_count(len(found), 'file')}: {tally(finding for findings in found.values() for finding in findings)}"


def _passed_over(files: int) -> str:
    return f"{_count(files, 'file')} passed over: no key starts with `gg.`"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
