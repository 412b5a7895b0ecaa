"""`ggfmt validate-config`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from ggfmt.cli.output import emit, emit_findings
from ggfmt.commands import arguments
from ggfmt.commands.declaration import Option
from ggfmt.commands.inspection import LintRequest
from ggfmt.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from ggfmt.config.lint.files import HandlerFile
    from ggfmt.config.lint.reading import Rules

FindingsFormat = Literal["text", "concise", "json", "github", "gitlab", "rdjson", "sarif", "junit"]
_Found = Mapping[str, Sequence[Diagnostic]]

_Codes = list[str] | None


def validate_config(
    request: LintRequest,
    output_format: Annotated[FindingsFormat, Option(panel="What is shown", help="How to print the findings.")] = "text",
    strict: Annotated[bool, Option(panel="What is checked", help="End with 1 for warnings too.")] = False,
    select: Annotated[
        _Codes,
        Option(metavar="CODES", panel="What is checked", help="Tell these: `GG101`, `GG11` for all such, `ALL`."),
    ] = None,
    ignore: Annotated[_Codes, Option(metavar="CODES", panel="What is checked", help="Do not tell these.")] = None,
    extend_ignore: Annotated[
        _Codes, Option(metavar="CODES", panel="What is checked", help="Nor these, beside those of `--ignore`.")
    ] = None,
    machine: Annotated[
        bool | None,
        Option(
            "--machine/--no-machine",
            panel="What is checked",
            help="Check what depends on this machine; default: unless `CI` is set.",
        ),
    ] = None,
    isolated: Annotated[
        bool, Option(panel="What is checked", help="Take no settings from `ggfmt.toml` and `pyproject.toml`.")
    ] = False,
    stdin_filename: Annotated[
        str | None, Option(metavar="FILE", panel="What is shown", help="The name of standard input in what is told.")
    ] = None,
    fix: Annotated[bool, Option(panel="Fixes", help="Put the fixes into the files; what remains is printed.")] = False,
    diff: Annotated[
        bool, Option(panel="Fixes", help="Print the fixes as a patch; findings go to standard error.")
    ] = False,
    unsafe_fixes: Annotated[
        bool, Option(panel="Fixes", help="Fix what may not be what was meant, too; see the page `checking`.")
    ] = False,
) -> None:
    """Check handler files, and mend what can be mended.

    `ggfmt init json -o json.properties`

    `ggfmt validate-config json.properties`

    `ggfmt validate-config . --strict --output-format github`

    `ggfmt validate-config . --fix`

    `ggfmt validate-config . --diff | patch -p1`

    Ends with 1 if there are errors, or warnings and `--strict`; with 2 if a file is missing. With `--fix`, what
    remains counts.
    """
    from ggfmt.config.lint import settings as of_linter
    from ggfmt.config.lint.files import NAME_OF_STANDARD_INPUT, STANDARD_INPUT, find_sources
    from ggfmt.config.lint.reading import lint
    from ggfmt.diagnostics.codes import Severity

    files = arguments.texts(request.files)
    if fix and STANDARD_INPUT in files:
        raise typer.BadParameter("standard input cannot be written; use `--diff`", param_hint="--fix")
    chosen = of_linter.Settings(of_linter.command_line(select, ignore, extend_ignore, machine), isolated)
    sources = find_sources(files, sys.stdin.buffer, stdin_filename or NAME_OF_STANDARD_INPUT)
    rules = {source.name: chosen.rules(source.name) for source in sources.found}
    given = arguments.lines(request.settings)
    mending = _FixApplier(fix, diff, unsafe_fixes, given)
    found: dict[str, Sequence[Diagnostic]] = {}
    for source in sources.found:
        of_file = rules[source.name]
        if fix or diff:
            found[source.name] = mending.mended(source, of_file)
        else:
            found[source.name] = lint(source.content, source.name, of_file, given)
    found = _told_once(found)
    _print(found, output_format, sys.stderr if diff else sys.stdout)
    sys.stdout.flush()
    for line in _closing(found, sources.passed_over, mending.left):
        emit("info", line)
    severities = {finding.severity for findings in found.values() for finding in findings}
    if Severity.ERROR in severities or (strict and Severity.WARNING in severities):
        raise typer.Exit(1)


class _FixApplier:
    """What becomes of fixes: written, shown, or both; `left` counts those that only `--unsafe-fixes` makes."""

    def __init__(self, fix: bool, diff: bool, unsafe: bool, settings: Sequence[str]) -> None:
        self.fix, self.diff, self.unsafe, self.settings = fix, diff, unsafe, settings
        self.left = 0

    def mended(self, source: HandlerFile, rules: Rules) -> Sequence[Diagnostic]:
        """Write or show the fixes of a file; what is found in it afterwards."""
        from ggfmt.config.lint.fix import fix_file, patch, write_file
        from ggfmt.config.lint.reading import lint
        from ggfmt.java.text import visible
        from ggfmt.render.diagnostics import print_patch

        mended = fix_file(source.content, source.name, rules, self.settings, self.unsafe)
        self.left += 0 if self.unsafe else sum(finding.rewrite is not None for finding in mended.findings)
        if self.diff:
            print_patch(patch(source.name, source.content, mended.content), sys.stdout)
        if not self.fix or source.path is None:
            return lint(source.content, source.name, rules, self.settings)
        if mended.content != source.content:
            failure = write_file(source.path, mended.content)
            if failure is not None:
                return (failure, *lint(source.content, source.name, rules, self.settings))
            counts = ((mended.keys, "key"), (mended.lines, "line"))
            fixed = " and ".join(_count(number, word) for number, word in counts if number)
            emit("info", f"fixed {fixed} in {visible(source.name)}")
        return mended.findings


def _told_once(found: _Found) -> dict[str, Sequence[Diagnostic]]:
    """The findings less what is told of `--set` more than once."""
    from ggfmt.config.properties import SETTINGS

    told: set[Diagnostic] = set()
    kept: dict[str, Sequence[Diagnostic]] = {}
    for file, findings in found.items():
        kept[file] = [finding for finding in findings if finding not in told]
        told |= {finding for finding in findings if finding.span.file == SETTINGS}
    return kept


def _print(found: _Found, output_format: FindingsFormat, stream: TextIO) -> None:
    from ggfmt.render.diagnostics import print_diagnostics, write_text

    if output_format == "text":
        from ggfmt.render.diagnostics import folded

        if stream is sys.stderr:
            emit_findings(folded(_all(found)))
        else:
            print_diagnostics(folded(_all(found)), stream)
    else:
        write_text(_rendered(found, output_format), stream)


def _rendered(found: _Found, output_format: FindingsFormat) -> str:
    if output_format == "concise":
        from ggfmt.render.diagnostics import diagnostics_concise

        return diagnostics_concise(_all(found))
    if output_format == "github":
        from ggfmt.render.ci_formats import diagnostics_github

        return diagnostics_github(_all(found))
    if output_format == "gitlab":
        from ggfmt.render.ci_formats import diagnostics_gitlab

        return diagnostics_gitlab(found)
    if output_format == "rdjson":
        from ggfmt.render.ci_formats import diagnostics_rdjson

        return diagnostics_rdjson(_all(found))
    if output_format == "sarif":
        from ggfmt.render.ci_formats import diagnostics_sarif

        return diagnostics_sarif(_all(found))
    if output_format == "junit":
        from ggfmt.render.ci_formats import diagnostics_junit

        return diagnostics_junit(found)
    from ggfmt.render.diagnostics import diagnostics_json

    return diagnostics_json(_all(found))


def _all(found: _Found) -> list[Diagnostic]:
    return [finding for findings in found.values() for finding in findings]


def _closing(found: _Found, passed_over: Sequence[str], left: int) -> list[str]:
    """What is told below the findings: how many there are, what else can be fixed, which files were not checked."""
    from ggfmt.java.text import visible
    from ggfmt.render.diagnostics import tally

    lines = []
    if left:
        lines.append(f"{_count(left, 'fix', 'fixes')} more with `--unsafe-fixes`")
    if found or not passed_over:
        lines.append(f"{_count(len(found), 'file')}: {tally(_all(found))}")
    if passed_over:
        files = visible(passed_over[0]) if len(passed_over) == 1 else _count(len(passed_over), "file")
        lines.append(f"{files}: no GoldenGate properties, passed over")
    return lines


def _count(number: int, word: str, words: str = "") -> str:
    return f"{number} {word if number == 1 else words or f'{word}s'}"
