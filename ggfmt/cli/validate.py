"""`ggfmt validate-config`, and `ggfmt lsp` for editors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, TextIO, get_args

import typer

from ggfmt.cli.output import emit, emit_findings
from ggfmt.commands import arguments
from ggfmt.commands.declaration import Option
from ggfmt.commands.inspection import LintRequest
from ggfmt.diagnostics.diagnostic import USAGE, Diagnostic, UsageError

if TYPE_CHECKING:
    from ggfmt.config.lint.fix import FixedFile
    from ggfmt.config.lint.reading import Rules
    from ggfmt.config.lint.releases import ReleaseFinding

FindingsFormat = Literal["text", "concise", "json", "github", "gitlab", "rdjson", "sarif", "junit"]
_FORMATS = get_args(FindingsFormat)
_Found = Mapping[str, Sequence[Diagnostic]]

_Codes = list[str] | None
_Checked = tuple[bytes, str, "Rules", Sequence[str]]
_MANY = 20  # files whose releases are each on a line
_MIN_CACHED = 100  # fewer files are checked sooner than the cache is read


def validate_config(
    request: LintRequest,
    output_format: Annotated[
        FindingsFormat,
        Option(metavar="FORMAT", panel="Display", help=f"One of {', '.join(f'`{name}`' for name in _FORMATS)}."),
    ] = "text",
    output_file: Annotated[
        str | None, Option(metavar="FILE", panel="Display", help="Write the findings to this file.")
    ] = None,
    statistics: Annotated[
        bool, Option(panel="Display", help="Print how many findings each code has, not the findings.")
    ] = False,
    strict: Annotated[bool, Option(panel="Checks", help="End with 1 for warnings too.")] = False,
    exit_zero: Annotated[bool, Option(panel="Checks", help="End with 0 whatever the findings are.")] = False,
    select: Annotated[
        _Codes,
        Option(
            metavar="CODES",
            panel="Checks",
            help="Report only these codes: a code (`GG101`), a prefix (`GG11`), or `ALL`.",
        ),
    ] = None,
    ignore: Annotated[_Codes, Option(metavar="CODES", panel="Checks", help="Do not report these codes.")] = None,
    extend_ignore: Annotated[
        _Codes,
        Option(metavar="CODES", panel="Checks", help="Do not report these codes either, in addition to `--ignore`."),
    ] = None,
    machine: Annotated[
        bool | None,
        Option(
            "--machine/--no-machine",
            panel="Checks",
            help="Check what depends on this machine. Default: only if `CI` is not set.",
        ),
    ] = None,
    pass_over: Annotated[
        bool, Option(panel="Checks", help="Pass over files that have no properties of GoldenGate, even named ones.")
    ] = False,
    force_exclude: Annotated[
        bool, Option(panel="Checks", help="Skip files that the setting `exclude` fits, even named ones.")
    ] = False,
    baseline: Annotated[
        str | None, Option(metavar="FILE", panel="Known findings", help="Do not report the findings in this file.")
    ] = None,
    write_baseline: Annotated[
        str | None, Option(metavar="FILE", panel="Known findings", help="Write all findings to this baseline.")
    ] = None,
    add_ignore: Annotated[
        bool, Option(panel="Known findings", help="Write comments to the files that ignore errors and warnings.")
    ] = False,
    isolated: Annotated[bool, Option(panel="Checks", help="Ignore `ggfmt.toml` and `pyproject.toml`.")] = False,
    no_cache: Annotated[
        bool,
        Option("--no-cache", panel="Checks", help="Check files again that a check of many files has found unchanged."),
    ] = False,
    watch: Annotated[
        bool, Option(panel="Display", help="Check again after each change of a file or of settings, until Ctrl-C.")
    ] = False,
    stdin_filename: Annotated[
        str | None, Option(metavar="FILE", panel="Display", help="The name of standard input in findings.")
    ] = None,
    fix: Annotated[
        bool, Option(panel="Fixes", help="Write the fixes to the files, and print the findings that are left.")
    ] = False,
    diff: Annotated[
        bool, Option(panel="Fixes", help="Print the fixes as a patch; findings go to standard error.")
    ] = False,
    unsafe_fixes: Annotated[
        bool, Option(panel="Fixes", help="Also apply fixes that may change the meaning; see the page `checking`.")
    ] = False,
) -> None:
    """Check handler files, and fix what can be fixed.

    `ggfmt init json -o json.properties`

    `ggfmt validate-config json.properties`

    `ggfmt validate-config . --strict --output-format github`

    `ggfmt validate-config json.properties --strict --for-run`

    `ggfmt validate-config . --fix`

    `ggfmt validate-config . --diff | patch -p1`

    `ggfmt validate-config . --write-baseline known.json`

    `ggfmt validate-config . --strict --baseline known.json`

    Ends with 1 if there are errors, or warnings and `--strict`; with 2 if it cannot check a file. With `--fix`, only
    the findings that are left count.
    """
    if watch:
        check_again = partial(validate_config, **{**locals(), "watch": False})
        if fix or add_ignore or write_baseline is not None:
            raise typer.BadParameter("give it without options that write to files", param_hint="--watch")
        raise typer.Exit(_watch(check_again, arguments.texts(request.files), isolated))
    from ggfmt.config.lint import settings as of_linter
    from ggfmt.config.lint.files import NAME_OF_STANDARD_INPUT, STANDARD_INPUT, find_sources
    from ggfmt.config.lint.reading import check_file, lint
    from ggfmt.diagnostics.codes import Severity
    from ggfmt.render.diagnostics import print_patch
    from ggfmt.render.pager import paged

    files = arguments.texts(request.files)
    if fix and STANDARD_INPUT in files:
        raise typer.BadParameter("standard input cannot be written; use `--diff`", param_hint="--fix")
    if add_ignore and (fix or diff or STANDARD_INPUT in files):
        raise typer.BadParameter("give it without `--fix`, `--diff` and standard input", param_hint="--add-ignore")
    if statistics and output_format not in ("text", "json"):
        raise typer.BadParameter("it needs `--output-format` text or json", param_hint="--statistics")
    if baseline is not None or write_baseline is not None:
        from ggfmt.config.lint.baseline import new_findings, read_baseline
        from ggfmt.config.lint.baseline import write_baseline as write_known
    known = read_baseline(baseline) if baseline is not None else {}
    chosen = of_linter.Settings(of_linter.command_line(select, ignore, extend_ignore, machine), isolated)
    sources = find_sources(files, sys.stdin.buffer, stdin_filename or NAME_OF_STANDARD_INPUT, pass_over)
    given = arguments.lines(request.settings)
    found: dict[str, Sequence[Diagnostic]] = {}
    _add(found, sources.findings)
    unchecked = bool(found)
    releases: dict[str, ReleaseFinding] = {}
    changed = left = 0  # files with fixes, and fixes that are unsafe
    if fix or diff:
        from ggfmt.config.lint.fix import fix_file, patch
    excluded = 0
    cache = None
    if len(sources.found) >= _MIN_CACHED and not no_cache:
        from ggfmt.config.lint.cache import LintCache
        from ggfmt.version import VERSION

        cache = LintCache(VERSION)
    check = cache.check if cache is not None else check_file
    for source in sources.found:
        try:
            if (force_exclude or source.name not in (*files, stdin_filename)) and chosen.is_excluded(source.name):
                excluded += 1
                continue
            rules = replace(chosen.rules(source.name), for_run=request.for_run)
        except UsageError as error:  # in a file of settings
            _add(found, error.diagnostics)
            unchecked = True
            continue
        checked = (source.content, source.name, rules, given)
        if not (fix or diff):
            found[source.name], release = check(*checked)
            if release is not None:
                releases[source.name] = release
            if add_ignore and source.path is not None:
                found[source.name] = _with_comments(source.path, checked, found[source.name])
            continue
        fixed = fix_file(*checked, unsafe_fixes)
        left += 0 if unsafe_fixes else sum(finding.rewrite is not None for finding in fixed.findings)
        changed += fixed.content != source.content
        if diff:
            print_patch(patch(source.name, source.content, fixed.content), sys.stdout)
        if not fix or source.path is None:
            found[source.name] = lint(*checked)
        else:
            failure = _write(source.path, fixed) if fixed.content != source.content else None
            found[source.name] = fixed.findings if failure is None else (failure, *lint(*checked))
    if cache is not None:
        cache.save()
    found = _deduplicated(found)
    if write_baseline is not None:
        emit("info", f"{_count(write_known(write_baseline, found), 'finding')} written to {write_baseline}")
        baseline, known = write_baseline, read_baseline(write_baseline)
    gone = 0
    if baseline is not None:
        found, gone = new_findings(found, known, baseline)
    show = _print_statistics if statistics else _print
    if output_file is not None:
        _write_report(output_file, lambda stream: show(found, output_format, stream))
    elif diff:
        show(found, output_format, sys.stderr)
    else:
        with paged():
            show(found, output_format, sys.stdout)
    sys.stdout.flush()
    if gone:
        emit("info", f"the baseline has {_count(gone, 'finding')} more than there are: write it again")
    for line in _releases(releases):
        emit("info", line)
    if (fix or diff) and not changed and not left and any(found.values()):
        emit("info", "nothing was fixed: no finding has a fix that ggfmt can apply")
    for line in _closing(found, len(sources.found) - excluded, sources.passed_over, left, request.for_run):
        emit("info", line)
    if unchecked:
        raise typer.Exit(USAGE)
    severities = {finding.severity for findings in found.values() for finding in findings}
    if not exit_zero and (Severity.ERROR in severities or (strict and Severity.WARNING in severities)):
        raise typer.Exit(1)


def lsp() -> None:
    """Check handler files in an editor, as its language server.

    `ggfmt lsp`

    The editor starts the command, and shows findings, fixes, explanations and completions. See
    `ggfmt docs use-in-an-editor`.
    """
    try:
        from ggfmt.cli.lsp import BoundedInput, make_server, report_errors
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        emit("error", "`ggfmt lsp` needs the package `pygls`: run `pip install 'ggfmt[lsp]'`")
        raise typer.Exit(USAGE) from None
    report_errors(lambda message: emit("error", f"a message of the editor cannot be read: {message}"))
    messages = BoundedInput(sys.stdin.buffer)
    with open(os.dup(sys.stdout.fileno()), "wb") as stream:  # the server closes its stream
        make_server().start_io(messages, stream)
    if messages.problem:
        emit("error", f"{messages.problem}; start `ggfmt lsp` from an editor")
        raise typer.Exit(USAGE)


def _watch(check_again: Callable[[], None], files: Sequence[str], isolated: bool) -> int:
    """Check now and after each change of the files or their settings. Return the code of the last check at Ctrl-C."""
    import time

    from ggfmt.config.lint.files import STANDARD_INPUT, find_sources
    from ggfmt.config.lint.settings import ReportedFindings, Settings
    from ggfmt.render.terminal import is_interactive

    if STANDARD_INPUT in files or not is_interactive(sys.stdout):
        raise typer.BadParameter("it needs files, and a terminal for standard output", param_hint="--watch")
    os.environ["GGFMT_PAGER"] = ""
    code, checked = 0, None
    try:
        while True:
            started = time.perf_counter()
            sources, chosen = find_sources(files, sys.stdin.buffer), Settings(ReportedFindings(), isolated)
            try:
                rules = [(chosen.rules(source.name), chosen.is_excluded(source.name)) for source in sources.found]
                state: object = (sources, rules)
            except UsageError as error:
                state = (sources, error.diagnostics)
            if state != checked:
                checked = state
                sys.stdout.write("\x1b[H\x1b[2J")
                code = 0
                try:
                    check_again()
                except typer.Exit as end:
                    code = end.exit_code
                emit("info", f"{time.strftime('%H:%M:%S')}: waiting for changes; Ctrl-C ends")
            time.sleep(max(0.5, 10 * (time.perf_counter() - started)))  # many files take a tenth of a processor
    except KeyboardInterrupt:
        return code


def _add(found: dict[str, Sequence[Diagnostic]], findings: Iterable[Diagnostic]) -> None:
    for finding in findings:
        name = finding.span.file or ""
        found[name] = list(dict.fromkeys((*found.get(name, ()), finding)))


def _write(path: str, fixed: FixedFile) -> Diagnostic | None:
    from ggfmt.config.lint.fix import write_file
    from ggfmt.java.text import visible

    failure = write_file(path, fixed.content)
    if failure is None:
        counts = ((fixed.keys, "key"), (fixed.lines, "line"))
        emit(
            "info",
            f"fixed {' and '.join(_count(number, word) for number, word in counts if number)} in {visible(path)}",
        )
    return failure


def _with_comments(path: str, checked: _Checked, findings: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """Write comments that ignore the findings of a file, and return those that are left."""
    from ggfmt.config.lint.fix import ignore_findings, write_file
    from ggfmt.config.lint.reading import lint

    content, name, rules, given = checked
    commented = ignore_findings(content, name, findings)
    if commented == content:
        return findings
    failure = write_file(path, commented)
    return (failure, *findings) if failure is not None else lint(commented, name, rules, given)


def _write_report(path: str, show: Callable[[TextIO], None]) -> None:
    from io import StringIO

    report = StringIO()
    show(report)
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(report.getvalue())
    except OSError as error:
        raise UsageError("GG506", f"the file cannot be written: {error.strerror}", path) from None


def _print_statistics(found: _Found, output_format: FindingsFormat, stream: TextIO) -> None:
    import json
    from collections import Counter

    from ggfmt.diagnostics.codes import CODES
    from ggfmt.render.terminal import write_text

    counts = Counter(finding.code for finding in _all(found))
    listed = [
        {"code": code, "count": number, "title": CODES[code].title}
        for code, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    lines = "".join(f"{item['count']:>6}  {item['code']}  {item['title']}\n" for item in listed)
    write_text(json.dumps(listed, indent=2) + "\n" if output_format == "json" else lines, stream)


def _deduplicated(found: _Found) -> dict[str, Sequence[Diagnostic]]:
    from ggfmt.config.properties import SETTINGS

    reported: set[Diagnostic] = set()
    kept: dict[str, Sequence[Diagnostic]] = {}
    for file, findings in found.items():
        kept[file] = [finding for finding in findings if finding not in reported]
        reported |= {finding for finding in findings if finding.span.file == SETTINGS}
    return kept


def _print(found: _Found, output_format: FindingsFormat, stream: TextIO) -> None:
    from ggfmt.render.diagnostics import fold_similar, print_diagnostics
    from ggfmt.render.terminal import write_text

    if output_format != "text":
        write_text(_rendered(found, output_format), stream)
    elif stream is sys.stderr:
        emit_findings(fold_similar(_all(found)))
    else:
        print_diagnostics(fold_similar(_all(found)), stream)


def _rendered(found: _Found, output_format: FindingsFormat) -> str:
    from ggfmt.render import ci_formats, diagnostics

    if output_format == "gitlab":
        return ci_formats.diagnostics_gitlab(found)
    if output_format == "junit":
        return ci_formats.diagnostics_junit(found)
    render = {
        "concise": diagnostics.diagnostics_concise,
        "github": ci_formats.diagnostics_github,
        "rdjson": ci_formats.diagnostics_rdjson,
        "sarif": ci_formats.diagnostics_sarif,
        "json": diagnostics.diagnostics_json,
    }
    return render[output_format](_all(found))


def _all(found: _Found) -> list[Diagnostic]:
    return [finding for findings in found.values() for finding in findings]


def _closing(found: _Found, files: int, passed_over: Sequence[str], left: int, for_run: bool) -> list[str]:
    from ggfmt.java.text import visible
    from ggfmt.render.diagnostics import count_findings, is_not_done

    lines = []
    if left:
        lines.append(f"{_count(left, 'fix', 'fixes')} more with `--unsafe-fixes`")
    if found or not passed_over:
        lines.append(f"{_count(files, 'file')}: {count_findings(_all(found))}")
    if not for_run and any(map(is_not_done, _all(found))):
        lines.append("`--for-run` checks whether a run stops at what ggfmt does not do")
    if passed_over:
        others = visible(passed_over[0]) if len(passed_over) == 1 else _count(len(passed_over), "file")
        lines.append(f"{others}: no GoldenGate properties, passed over")
    return lines


def _releases(found: Mapping[str, ReleaseFinding]) -> list[str]:
    """Return why each file has its release; for many files, how many have which."""
    from collections import Counter

    from ggfmt.java.text import visible
    from ggfmt.options.releases import manual_name

    if len(found) <= _MANY:
        return [f"{visible(name)}: {visible(release.reason)}" for name, release in found.items()]
    counts = Counter(manual_name(release.release) for release in found.values()).most_common()
    return ["releases: " + ", ".join(f"{name} in {_count(number, 'file')}" for name, number in counts)]


def _count(number: int, word: str, words: str = "") -> str:
    return f"{number} {word if number == 1 else words or f'{word}s'}"
