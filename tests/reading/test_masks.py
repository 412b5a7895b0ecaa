"""Masked batches beside a plain oracle, hashes of equal values, and the checks of names and masks."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import changes, make_batch, plain_operations, slice_batch, table_def

from ggfmt.columnar.columns import token_maps
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.formats.api.reading import UnknownTable
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.selection import How, Mask, TableSelection
from ggfmt.model.table import STRING, Catalog, Column, Kind, SqlType, TableDef
from ggfmt.options.value_types import Keys
from ggfmt.reading.masks import check_masks, hashed, masked_batch, masked_table, without_values

KEY = b"0123456789abcdef"
PlainImage = Mapping[str, str | None]


def digest(text: str) -> str:
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


@given(st.data())
def test_a_masked_batch_shows_what_a_plain_oracle_shows(data: st.DataObject) -> None:
    made = data.draw(changes(least=1))
    # a text has no other spelling
    table = replace(made.table, columns=tuple(replace(column, kind="string") for column in made.table.columns))
    names = [column.name for column in table.columns]
    hows: list[How] = ["null", "hash", "fixed"]
    kinds = data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from(hows)))
    shown = data.draw(st.just(names) | st.lists(st.sampled_from(names), unique=True))
    masks = tuple(Mask(table.name, name, how, "*") for name, how in kinds.items())
    selection = TableSelection((), (), ((table.name, tuple(shown)),), masks, KEY)
    batch = make_batch(replace(made, table=table))
    start = data.draw(st.integers(0, len(batch)))

    def value(name: str, text: str | None) -> str | None:
        how = kinds.get(name)
        if text is None or how is None:
            return text
        return None if how == "null" else "*" if how == "fixed" else digest(text)

    def image(whole: PlainImage | None) -> PlainImage | None:
        return (
            None
            if whole is None
            else {name: value(name, whole[name]) for name in names if name in whole and name in shown}
        )

    for part in (batch, slice_batch(batch, start, len(batch))):
        found = plain_operations(masked_batch(part, selection))
        for before, after in zip(plain_operations(part), found, strict=True):
            is_same = not kinds and set(shown) == set(names)
            tokens = before.tokens if is_same else {name: text for name, text in before.tokens.items() if name == "xid"}
            wanted = replace(before, before=image(before.before), after=image(before.after), tokens=tokens)
            assert after == wanted
    assert masked_table(table_def(table), selection).column_names == tuple(name for name in names if name in shown)


def test_only_tokens_of_positions_and_transactions_stay() -> None:
    table = TableDef("S.T", (Column("A"),))
    tokens = [{"query": "update 4111", "xid": "7"}, {}, {"xid": "8", "TK-CARD": "4111", "csn": "9"}]
    texts = pa.array(["4111"] * 3)
    image = Image((ImageColumn(texts),))
    batch = ChangeBatch(
        table, pa.array(["I"] * 3), texts, texts, image, image, pa.array(range(3), pa.int64()), token_maps(tokens)
    )
    selection = TableSelection(masks=(Mask("T", "A", "null"),))
    masked = masked_batch(batch.take(pa.array([2, 1, 0])), selection)
    assert [item.tokens for item in plain_operations(masked)] == [{"xid": "8", "csn": "9"}, {}, {"xid": "7"}]
    assert masked.before.columns is masked.after.columns


@pytest.mark.parametrize(
    ("type", "texts"),
    [
        (SqlType(Kind.DECIMAL, precision=9, scale=2), ["1", "1.0", "1e0", "01.00"]),
        (SqlType(Kind.NUMBER), ["-0.0", "0", "0.00"]),
        (SqlType(Kind.INTEGER), ["12345678901234567890123", "12345678901234567890123.0"]),
        (SqlType(Kind.TIMESTAMP), ["2026-01-02 03:04:05", "2026-01-02T03:04:05.000000", "2026-01-02 03:04:05.000"]),
        (SqlType(Kind.TIMESTAMP, zoned=True), ["2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00"]),
        (SqlType(Kind.DATE), ["2026-01-02", "2026-01-02 00:00:00"]),
    ],
)
def test_equal_values_have_equal_hashes(type: SqlType, texts: list[str]) -> None:
    assert len(set(hashed(pa.array(texts), type, KEY).to_pylist())) == 1


def test_other_values_have_other_hashes() -> None:
    texts = ["1", "1.0", "01", "", " 1", "no time", None]
    found = hashed(pa.array(texts), STRING, KEY).to_pylist()
    assert found == [None if text is None else digest(text) for text in texts]
    assert hashed(pa.array(["1"]), STRING, KEY[::-1]).to_pylist() != found[:1]
    nanos = ["2026-01-02 03:04:05.123456789", "2026-01-02 03:04:05.123456"]
    assert len(set(hashed(pa.array(nanos), SqlType(Kind.TIMESTAMP), KEY).to_pylist())) == 2


TABLE = TableDef("S.C", (Column("ID", key=1), Column("EMAIL", STRING, False), Column("N", SqlType(Kind.INTEGER))))


def test_the_definition_of_masked_columns() -> None:
    masks = (Mask("C", "ID", "hash"), Mask("S.C", "EMAIL", "null"), Mask("S.C", "N", "fixed", "0"))
    shown = masked_table(TABLE, TableSelection(masks=masks))
    assert shown.columns == (Column("ID", key=1), Column("EMAIL", STRING, True), TABLE.columns[2])
    other = replace(TABLE, full_name="S.OTHER")
    assert masked_table(other, TableSelection(masks=masks)) is other


def problems(
    *masks: Mask, columns: Keys = (), tables: tuple[TableDef, ...] = (TABLE,), keys: Keys = (), later: bool = False
) -> list[str]:
    try:
        check_masks(TableSelection(columns=columns, masks=masks), tables, keys, later)
    except UsageError as error:
        return [f"{found.code} {found.message}; {found.help}" for found in error.diagnostics]
    return []


def test_names_are_exact() -> None:
    assert problems(Mask("S.C", "EMAIL", "null"), Mask("C", "N", "null"), columns=(("C", ("ID", "N", "EMAIL")),)) == []
    for later in (False, True):
        (found,) = problems(Mask("S.C", "Email", "null"), later=later)
        assert found.startswith("GG592 `--mask` names the column `Email` of `S.C`") and "name `S.C.EMAIL`" in found
        (found,) = problems(Mask("s.c", "EMAIL", "null"), later=later)
        assert found.startswith("GG592 `--mask` names the table `s.c`") and "name `S.C.EMAIL`" in found
        (found,) = problems(columns=(("s.c", ("ID", "EMAIL")),), later=later)
        assert found.startswith("GG592 `--columns` names the table `s.c`") and "name `S.C`" in found
    (found,) = problems(Mask("S.C", "EMIAL", "null"))
    assert "GG592" in found and "did you mean `EMAIL`" in found
    (found,) = problems(columns=(("S.D", ("ID",)),))
    assert "GG592 `--columns` names the table `S.D`" in found
    (found,) = problems(columns=(("S.C", ("ID", "X")),))
    assert "GG592 `--columns` names the column `X`" in found
    (found,) = problems(Mask("T", "A", "null"), tables=())
    assert "--definitions" in found
    assert problems(Mask("S.D", "A", "null"), Mask("S.C", "X", "null"), later=True) == []


def test_a_column_of_another_case_is_not_left_open() -> None:
    later = TableDef("S.C", (*TABLE.columns, Column("email")))
    for tables in ((TABLE, later), (later,)):
        (found,) = problems(Mask("S.C", "EMAIL", "null"), tables=tables, later=True)
        assert found.startswith("GG592") and "name `S.C.email`" in found
    assert problems(Mask("S.C", "EMAIL", "null"), Mask("S.C", "email", "null"), tables=(later,)) == []
    assert problems(Mask("S.C", "EMAIL", "null"), columns=(("C", ("ID", "EMAIL")),), tables=(later,)) == []
    other = replace(TABLE, full_name="S.c")
    (found,) = problems(Mask("S.C", "EMAIL", "null"), tables=(TABLE, other))
    assert "name `S.c.EMAIL`" in found
    (found,) = problems(columns=(("S.C", ("ID",)),), tables=(TABLE, other))
    assert "name `S.c`" in found
    assert problems(Mask("S.C", "EMAIL", "null"), Mask("S.c", "EMAIL", "hash"), tables=(TABLE, other)) == []


@pytest.mark.example("GG593")
def test_masks_that_a_column_cannot_have() -> None:
    def refused(*masks: Mask, **others: object) -> str:
        (found,) = problems(*masks, **others)  # type: ignore[arg-type]
        assert found.startswith("GG593")
        return found

    assert "cannot have the mask `null`" in refused(Mask("S.C", "ID", "null"))
    assert "cannot have the mask `fixed`" in refused(Mask("S.C", "ID", "fixed", "1"))
    assert "cannot have the mask `null`" in refused(Mask("S.C", "EMAIL", "null"), keys=(("*", ("email",)),))
    assert problems(Mask("S.C", "ID", "null"), keys=(("*", ("EMAIL",)),)) == []
    assert "leaves out a column of the key" in refused(columns=(("S.C", ("N",)),))
    assert "two lists" in problems(columns=(("S.C", ("ID",)), ("C", ("ID", "N"))))[0]
    assert "two masks" in refused(Mask("S.C", "N", "null"), Mask("C", "N", "fixed", "1"))
    assert "`x` is not a value of the type `integer`" in refused(Mask("S.C", "N", "fixed", "x"))


@pytest.mark.parametrize(
    ("type", "right", "wrong"),
    [
        (SqlType(Kind.DECIMAL), "-1.5e3", "1,5"),
        (SqlType(Kind.BOOLEAN), "false", "no"),
        (SqlType(Kind.DATE), "1970-01-01", "never"),
        (SqlType(Kind.STRING, 3), "abc", "abcd"),
        (SqlType(Kind.INTEGER), "0", ""),
    ],
)
def test_a_fixed_text_is_a_value_of_the_column(type: SqlType, right: str, wrong: str) -> None:
    table = TableDef("T", (Column("A", type),))
    assert problems(Mask("T", "A", "fixed", right), tables=(table,)) == []
    assert "GG593" in problems(Mask("T", "A", "fixed", wrong), tables=(table,))[0]
    unseen = TableDef("T", (Column("A", replace(type, unseen=True)),))
    assert problems(Mask("T", "A", "fixed", wrong), tables=(unseen,)) == []


def test_an_error_of_a_record_has_nothing_of_it() -> None:
    place = Span(file="f", offset=7, table="S.C", field="N", position="4111")
    found = without_values(Diagnostic("GG314", "`4111` is no number", place, "not 4111"), Catalog({"S.C": TABLE}))
    assert found.span == Span(file="f", offset=7, table="S.C", field="N")
    assert found.code == "GG314" and "4111" not in str(found)
    found = without_values(Diagnostic("GG308", "4111", Span(file="f", table="4111", field="4111")), Catalog())
    assert "4111" not in str(found)
    unknown = UnknownTable.named("S.X")
    assert without_values(unknown, Catalog()) is unknown
