"""Changes of `mutation.py` that no test can notice."""

from __future__ import annotations

# Changes that change nothing: module, line, the line that takes its place; and why no test can notice.
EQUIVALENT: dict[tuple[str, str, str], str] = {
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
        "ggfmt/reading/rejects.py",
        'self._handler, self._kind, "", self._split, 0, location, self.size, 0, self._count, digest, None, None',
        'self._handler, self._kind, "", self._split, 1, location, self.size, 0, self._count, digest, None, None',
    ): "a split has one file of rejects of a kind, so that its number decides nothing",
    (
        "ggfmt/sinks/messages/run.py",
        "totals.steps = added(totals.steps, run.watch.seconds)",
        "totals.steps = added(run.watch.seconds, totals.steps)",
    ): "a sum is the same in both orders",
    (
        "ggfmt/config/refusals.py",
        'elif byte_order_mark(getattr(options, "encoding", "UTF-8")):',
        "elif byte_order_mark(getattr(options, \"encoding\", 'UTF-8X')):",
    ): "as UTF-8, a charset that is none has no byte order mark",
    (
        "ggfmt/java/regex.py",
        '"Cntrl": CodePoints.of((0, 31), (127, 127)),',
        '"Cntrl": CodePoints.of((127, 127), (0, 31)),',
    ): "a set of characters is the same in any order",
}
