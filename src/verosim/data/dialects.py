"""Finds the dialect of a text file from its first bytes: encoding, delimiter and quote.

An encoding that is not UTF-8 is assumed only if no other reading fits: bytes that are not valid
UTF-8, beside almost none that are, are Windows-1252. Everything that is found is reported in the
schema, and `read=` overrides it.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from verosim.data.libraries import pa, pc
from verosim.data.read_options import ReadOptions

DELIMITERS = ",;\t|"
DELIMITER_NAMES = {"\t": "tab", " ": "space"}
SAMPLED_BYTES = 1 << 16  # bytes in which delimiters and quotes are tried
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, which has the same first two bytes
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
UNUSED_IN_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
MULTIBYTE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
COMMA_OF_A_TEXT = re.compile(r"(?<!\d),|,(?!\d)|,\d+,")  # a comma that is not a decimal mark
HIGH = re.compile(rb"[\x80-\xff]")


@dataclass(frozen=True)
class Dialect:
    """How the text of a CSV file is read."""

    sep: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str | None = None  # None if the columns decide it
    other: str = ""  # a delimiter that splits all rows alike too

    def __str__(self) -> str:
        """What differs from a plain CSV file, for the printed schema; "" if nothing does."""
        out = []
        if self.sep != "," or self.other:
            out.append(f"delimiter {DELIMITER_NAMES.get(self.sep) or repr(self.sep)}")
        if self.other:
            out[-1] += f" (the other reading is read=dict(sep={self.other!r}))"
        if self.quote != '"':
            out.append(f"quote {self.quote!r}" if self.quote else "no quotes")
        if self.decimal is not None:
            out.append(f"decimal mark {self.decimal!r}")
        if not is_utf8(self.encoding):
            out.append(f"encoding {self.encoding}")
        return ", ".join(out)

    def parse_options(self, **options: Any) -> Any:
        """The options of Arrow's parser."""
        from pyarrow.csv import ParseOptions

        return ParseOptions(
            delimiter=self.sep, quote_char=self.quote or False, newlines_in_values=True, **options
        )


def is_utf8(encoding: str) -> bool:
    """Whether Arrow reads an encoding without a conversion. It skips a byte order mark."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def find_encoding(start: bytes) -> str | None:
    """The encoding of a text with these first bytes, or None if it is broken UTF-8."""
    for mark, name in BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return name
    if b"\x00" in start[:SAMPLED_BYTES]:
        even, odd = (start[at:SAMPLED_BYTES:2].count(0) for at in (0, 1))
        if max(even, odd) > 4 * min(even, odd) and max(even, odd) > len(start[:SAMPLED_BYTES]) // 8:
            return "utf-16-be" if even > odd else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    valid = MULTIBYTE.findall(start)
    others = len(HIGH.findall(start)) - sum(map(len, valid))
    if len(valid) * 10 > others:
        return None
    return "latin-1" if UNUSED_IN_1252.search(start) else "windows-1252"


def as_utf8(start: bytes, encoding: str) -> bytes:
    """The first bytes of a text as UTF-8, without a byte order mark and without half a letter."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if is_utf8(encoding) else encoding)
    return decoder("replace").decode(start).lstrip("\ufeff").encode("utf-8", "replace")


def find_dialect(start: bytes, name: str, encoding: str, options: ReadOptions) -> Dialect:
    """The dialect of a text that begins with the UTF-8 bytes `start`."""
    quote = '"' if options.quote is None else options.quote
    sep, other = (options.sep, "") if options.sep else _delimiter(start, name, quote)
    if options.quote is None and _single_quoted(start, sep):
        quote = "'"
        sep, other = (options.sep, "") if options.sep else _delimiter(start, name, quote)
    return Dialect(sep, quote, encoding, options.decimal, other)


def _delimiter(start: bytes, name: str, quote: str) -> tuple[str, str]:
    """The delimiter that gives the most rows of equal length, then the most columns.

    If another delimiter gives as many rows of equal length, it is the second value. Then a comma
    that is only between digits is a decimal mark.
    """
    text = _sample(start)
    line, _, body = text.partition("\n")
    outside = "".join(line.split(quote)[::2]) if quote else line
    found = [sep for sep in DELIMITERS if sep in outside]
    if "\t" in found and ".tsv" in name.lower():
        return "\t", ""
    if not found:
        return _delimiter_of_one_column(text, body, quote), ""
    if len(found) == 1:
        return found[0], ""
    regular = {sep: _regular_rows(text, Dialect(sep, quote))[0] for sep in found}
    best = [sep for sep in found if regular[sep] == max(regular.values())]
    if len(best) > 1 and not COMMA_OF_A_TEXT.search(body):
        best = [*best[1:], ","] if "," in best else best
    else:
        best.sort(key=lambda sep: -outside.count(sep))
    return best[0], best[1] if len(best) > 1 else ""


def _delimiter_of_one_column(text: str, body: str, quote: str) -> str:
    """A delimiter that splits no row, if the header has one name.

    If one splits all rows alike, names are missing, and it is kept so that this is an error.
    """
    inside = [sep for sep in DELIMITERS if sep in body]
    if "," not in inside or _regular_rows(body, Dialect(",", quote))[0] == 1.0:
        return ","
    whole = (sep for sep in DELIMITERS if _regular_rows(text, Dialect(sep, quote))[0] == 1.0)
    return next(whole, ",")


def _sample(start: bytes) -> str:
    """The first whole lines, with "\\n" as line breaks."""
    text = start[:SAMPLED_BYTES].decode("utf-8", "replace").lstrip("\r\n")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text[: text.rfind("\n") + 1] if "\n" in text and len(start) > SAMPLED_BYTES else text


def _regular_rows(text: str, dialect: Dialect) -> tuple[float, int]:
    """The share of the rows that have as many cells as the first row, and the number of rows."""
    from pyarrow import csv as arrow_csv

    odd = 0

    def note(_: Any) -> str:
        nonlocal odd
        odd += 1
        return "skip"

    try:
        rows = arrow_csv.read_csv(
            pa.BufferReader(text.encode() + b"\n"),
            arrow_csv.ReadOptions(autogenerate_column_names=True, use_threads=False),
            dialect.parse_options(invalid_row_handler=note),
        ).num_rows
    except pa.ArrowInvalid:
        return 0.0, 0
    return rows / (rows + odd), rows + odd


def _single_quoted(start: bytes, sep: str) -> bool:
    """Whether cells are in single quotes: all names are, or rows have equal length only so."""
    text = _sample(start)
    if not re.search(rf"(?:^|[\n{re.escape(sep)}])'", text):
        return False
    names = text.partition("\n")[0].split(sep)
    if all(len(name) > 1 and name[0] == name[-1] == "'" for name in names):
        return True
    single, double = (_regular_rows(text, Dialect(sep, quote)) for quote in "'\"")
    return double[0] < single[0] == 1.0 and single[1] == double[1]


def header_record(start: bytes, dialect: Dialect) -> bytes | None:
    """The first record, which ends at a line break outside quotes; None if it does not end."""
    sep, quote = re.escape(dialect.sep).encode(), re.escape(dialect.quote).encode()
    plain = rb"[^%b\r\n]*+" % sep
    cell = rb"(?:%b(?:[^%b]++|%b%b)*+%b?%b|%b)" % (quote, quote, quote, quote, quote, plain, plain)
    cell = cell if quote else plain
    found = re.match(rb"%b(?:%b%b)*+" % (cell, sep, cell), start)
    assert found is not None
    return found[0] if found.end() < len(start) else None


def cells_of_record(record: bytes, dialect: Dialect) -> tuple[str, ...]:
    """The cells of one record."""
    if not dialect.quote or dialect.quote.encode() not in record:
        return tuple(record.decode("utf-8", "replace").split(dialect.sep))
    if len(record) < csv.field_size_limit():
        text = record.decode("utf-8", "replace")
        lines = csv.reader(io.StringIO(text), delimiter=dialect.sep, quotechar=dialect.quote)
        return tuple(next(lines, ()))
    from pyarrow import csv as arrow_csv

    most = record.count(dialect.sep.encode()) + 1
    row = arrow_csv.read_csv(
        pa.BufferReader(record + b"\n"),
        arrow_csv.ReadOptions(
            autogenerate_column_names=True, block_size=len(record) + 2, use_threads=False
        ),
        dialect.parse_options(ignore_empty_lines=False),
        arrow_csv.ConvertOptions(column_types={f"f{i}": pa.string() for i in range(most)}),
    )
    return tuple(column[0].as_py() for column in row.columns)


def decimal_point(decimal: str) -> Callable[[pa.Array], pa.Array]:
    """A function that writes the numbers of a column with a decimal point and without groups."""
    group = "." if decimal == "," else ","
    mark, other = re.escape(decimal), re.escape(group)
    number = rf"^\s*[-+]?(\d{{1,3}}({other}\d{{3}})+|\d+|)({mark}\d*)?([eE][-+]?\d+)?\s*$"

    def convert(texts: pa.Array) -> pa.Array:
        found = pc.and_(
            pc.match_substring_regex(texts, number), pc.match_substring_regex(texts, r"\d")
        )
        if not pc.any(found).as_py():
            return texts
        plain = pc.replace_substring(pc.replace_substring(texts, group, ""), decimal, ".")
        return pc.if_else(found, plain, texts)

    return convert


ENCODING_HINT = (
    "Save the file as UTF-8, or give its encoding, such as read=dict(encoding='windows-1252')."
)
