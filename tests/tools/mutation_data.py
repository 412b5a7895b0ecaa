"""What `mutation.py` changes, which tests must notice, and which changes no test can notice."""

from __future__ import annotations

_RUN = ("sinks/messages/test_totals", "sinks/messages/test_rejects", "end_to_end/test_run")
_DIALECTS = (
    "formats/test_partial_images",
    "formats/canal/test_read_and_write",
    "formats/maxwell/test_read_and_write",
    "formats/shareplex/test_read_and_write",
    "formats/cdl/test_read_and_write",
    "formats/arcion/test_read_and_write",
)
_FORMATS = ("end_to_end/test_golden", "formats/goldengate/test_formatters")

# For each module the modules of tests that guard it, those that tell soonest first.
_GUARDS: dict[str, tuple[str, ...]] = {
    "ggfmt/columnar/avro.py": ("columnar/test_whole_and_sliced_arrays", "formats/goldengate/avro/test_write"),
    "ggfmt/columnar/delimited.py": ("formats/goldengate/delimited/test_read", *_FORMATS),
    "ggfmt/columnar/escapes.py": ("columnar/test_whole_and_sliced_arrays", "columnar/test_message_assembly", *_FORMATS),
    "ggfmt/columnar/images.py": _DIALECTS,
    "ggfmt/columnar/join.py": ("columnar/test_whole_and_sliced_arrays", "columnar/test_message_assembly", *_FORMATS),
    "ggfmt/columnar/json_image.py": ("columnar/test_whole_and_sliced_arrays", *_FORMATS),
    "ggfmt/columnar/key_updates.py": (
        "columnar/test_whole_and_sliced_arrays",
        *_FORMATS,
        "sinks/messages/test_rejects",
    ),
    "ggfmt/columnar/metadata.py": ("columnar/test_whole_and_sliced_arrays", *_FORMATS),
    "ggfmt/columnar/replacement.py": ("columnar/test_replacement", "columnar/test_whole_and_sliced_arrays"),
    "ggfmt/columnar/strings.py": ("columnar/test_whole_and_sliced_arrays", *_FORMATS),
    "ggfmt/columnar/timestamps.py": (
        "columnar/test_whole_and_sliced_arrays",
        "formats/canal/test_read_and_write",
        "formats/maxwell/test_read_and_write",
        *_FORMATS,
    ),
    "ggfmt/config/properties.py": ("config/test_properties", "config/test_handlers"),
    "ggfmt/diagnostics/credentials.py": ("sinks/messages/test_totals",),
    "ggfmt/commit/commit.py": ("commit/test_commit", "end_to_end/test_run"),
    "ggfmt/commit/names.py": ("sinks/messages/test_totals", "commit/test_commit"),
    "ggfmt/sinks/messages/publish.py": (
        "sinks/messages/test_totals",
        "sinks/messages/test_rejects",
        "commit/test_commit",
        "end_to_end/test_run",
    ),
    "ggfmt/sinks/messages/rejects.py": ("sinks/messages/test_rejects", "sinks/messages/test_totals"),
    "ggfmt/scan/splits.py": _RUN,
    "ggfmt/sinks/messages/report.py": ("sinks/messages/test_totals", "sinks/messages/test_rejects"),
    "ggfmt/formats/canal/read.py": ("formats/test_partial_images", "formats/canal/test_read_and_write"),
    "ggfmt/formats/canal/write.py": ("formats/test_partial_images", "formats/canal/test_read_and_write"),
    "ggfmt/formats/goldengate/avro/write.py": (
        "formats/test_partial_images",
        "end_to_end/test_golden",
        "formats/goldengate/avro/test_write",
    ),
    "ggfmt/formats/goldengate/delimited/write.py": ("formats/test_partial_images", *_FORMATS),
    "ggfmt/formats/goldengate/json/write.py": _FORMATS,
    "ggfmt/formats/goldengate/json/read.py": (
        "formats/goldengate/json/test_rejects",
        "sinks/messages/test_totals",
        "formats/goldengate/json/test_read",
        "sinks/messages/test_rejects",
    ),
    "ggfmt/formats/goldengate/xml/write.py": ("end_to_end/test_golden", "formats/goldengate/xml/test_write"),
    "ggfmt/formats/json/files.py": (
        "formats/test_partial_images",
        "formats/goldengate/json/test_rejects",
        "formats/goldengate/json/test_read",
    ),
    "ggfmt/formats/records/rows.py": (*_DIALECTS, "formats/debezium/test_read"),
    "ggfmt/java/text.py": ("options/test_options", "config/test_properties"),
    "ggfmt/model/table.py": ("definitions/test_definitions", *_FORMATS),
    "ggfmt/options/value_types.py": ("options/test_options", "config/test_handlers"),
}
GUARDED = {module: tuple(f"tests/{test}.py" for test in tests) for module, tests in _GUARDS.items()}

# Changes that change nothing: module, line, the line that takes its place; and why no test can tell.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "ggfmt/config/properties.py",
        "def readline(self, size: int | None = -1, /) -> str:  "
        "# type: ignore[override]  # as in typeshed's own StringIO",
        "def readline(self, size: int | None = -2, /) -> str:  "
        "# type: ignore[override]  # as in typeshed's own StringIO",
    ): "any negative size is no limit",
    (
        "ggfmt/formats/records/rows.py",
        'return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=False)',
        'return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=True)',
    ): "whether the garbage collector looks at rows is a matter of time",
    (
        "ggfmt/formats/json/files.py",
        r'while guess > 0 and not data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n")):',
        r'while guess > 0 and (data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n"))):',
    ): "a guess is proven before it is used: a worse one takes time",
    (
        "ggfmt/sinks/messages/rejects.py",
        'self._handler, self._kind, "", self._split, 0, self._path, self.size, 0, self._count, digest, None, None',
        'self._handler, self._kind, "", self._split, 1, self._path, self.size, 0, self._count, digest, None, None',
    ): "a split has one file of rejects of a kind, so that its number decides nothing",
}
