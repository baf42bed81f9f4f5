"""Numbers as people write them: with thousands, a decimal comma, a currency or a unit.

    format          is read
    1.234,56        15.285,12  −3,5  (1.200)  7-
    $1,234.56       $15,285.12  -$3  ($1,200)  15285.12
    1 234,56 kg     1 070,1 kg  70,1

A format is the number 1234.56 in the way of the column. All cells of a column are read by one
format: one decimal mark, at most one mark of thousands, and at most one currency or unit, which is
removed and may be absent in a cell. Parentheses and a minus after the number mean negative.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from verosim.cached import cached_property
from verosim.data.exact_numbers import first_lost, lost_texts
from verosim.data.libraries import pa, pc
from verosim.data.text_folding import folded, some_texts

# The signs of Unicode class Sc, with up to three letters before them: $, €, R$, US$.
CURRENCY_SIGN = "[A-Za-z]{0,3}[$¢-¥֏؋߾߿৲৳৻૱௹฿៛\u20a0-\u20cf﷼﹩＄￠￡￥￦]"
CURRENCY_WORDS = (
    "USD|EUR|GBP|JPY|CHF|CNY|INR|BRL|MXN|ARS|CLP|COP|PEN|UYU|BOB|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|"
    "CZK|HUF|RON|BGN|RSD|TRY|RUB|UAH|ZAR|NGN|KES|GHS|EGP|MAD|ILS|SAR|AED|QAR|IRR|PKR|BDT|LKR|THB|"
    r"VND|IDR|MYR|PHP|SGD|HKD|TWD|KRW|[Kk]r\.?|Rs\.?|zł|Kč|Ft|Fr\.?|лв\.?|руб\.?|грн"
)
# Units that are accepted directly after a number. After a space, one word of letters is a unit.
CLOSE_UNITS = (
    "%|‰|°|°C|°F|kg|g|mg|µg|μg|lbs?|oz|cm|mm|m|km|mi|ft|in|yd|l|L|ml|mL|cl|dl|hl|hr?|hrs|min|s|"
    "sec|ms|yrs?|[kKMGT]B|kW|kWh|MW|MWh|mA|kV|Hz|kHz|MHz|GHz|px|pt|k|K|M|bn|pp|bps?|bpm|rpm|mph|"
    "km/h|m/s|[ck]?m2|[ck]?m²|c?m3|c?m³|ft2|ft²|sqm|sqft|ha|kcal|kJ|hPa|mmHg|bar|psi|ppm"
)
WORD_UNIT = r"[^\W\d_][\w/·.²³µ°%]{0,14}"
DECIMAL_MARKS = (  # decimal mark, mark of thousands; the first of equally good ones is taken
    (".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", "'"), (".", " "), (",", "'"),
)  # fmt: skip
PLURAL = re.compile(r"[^\W\d_]{3,}s")
EXPONENTS = ("e", "E")  # these letters are not units
LEAST_DIGITS_OF_PHONE = 9
NEARLY_ALL = 20  # one cell in so many may not fit another format that nearly all cells fit
CURRENCY = f"(?:{CURRENCY_SIGN}|{CURRENCY_WORDS})"
SHAPE = re.compile(
    rf"\(? *[-+]? *(?P<before>{CURRENCY})? *[-+(]? *"
    r"(?P<body>[0-9][0-9.,' ]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?"
    rf" *-?(?: *(?P<close>{CURRENCY}|{CLOSE_UNITS})| +(?P<apart>{WORD_UNIT}))? *-? *\)?"
)
EXAMPLE = re.compile(
    r"(?P<before>[^0-9]*?)(?P<s1> ?)1(?P<group>[,.' ]?)234(?:(?P<decimal>[.,])56)?(?P<s2> ?)"
    r"(?P<after>.*?)"
)


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written."""

    decimal: str = "."
    group: str = ""  # the mark of thousands
    unit: str = ""  # the currency or unit, which is removed
    before: bool = False  # whether the unit is shown before the number
    apart: bool = False  # whether the unit is shown with a space

    role = "number"

    def __str__(self) -> str:
        number, space = f"1{self.group}234{self.decimal}56", " " if self.apart else ""
        if not self.unit:
            return number
        return f"{self.unit}{space}{number}" if self.before else f"{number}{space}{self.unit}"

    @classmethod
    def parsed(cls, text: str) -> NumberFormat | None:
        """The format that is written as the number 1234.56 or 1234, or None."""
        found = EXAMPLE.fullmatch(text)
        if not found or (found["before"] and found["after"]):
            return None
        group, decimal = found["group"], found["decimal"]
        decimal = decimal or {"": ".", ".": ",", " ": ","}.get(group, ".")
        if decimal == group:
            return None
        unit = (found["before"] or found["after"]).strip()
        if unit in EXPONENTS:
            return None
        space = found["s1"] if found["before"] else found["s2"]
        return cls(decimal, group, unit, bool(found["before"]), bool(unit and space))

    @property
    def wanted(self) -> str:
        """What a cell must be, for messages."""
        return f'a number like "{self}"'

    @property
    def unit_pattern(self) -> str:
        """The unit as a regular expression. The unit 'years' also has the form 'year'."""
        if PLURAL.fullmatch(self.unit):
            return f"(?:{re.escape(self.unit[:-1])}s?)"
        return re.escape(self.unit)

    @cached_property
    def _body(self) -> str:
        """The digits, marks and exponent, as a regular expression."""
        point, whole = re.escape(self.decimal), "[0-9]+"
        if self.group:
            mark = re.escape(self.group)
            whole = f"(?:[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|{whole})"
            if self.group == ",":  # lakh and crore: 12,34,567
                whole = f"(?:[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}|{whole})"
        return f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?"

    @property
    def decisive(self) -> str:
        """The form of a number that has no other format, as a regular expression.

        0.125 has decimals, although it has three; 1,234,567 and 1,234.5 have thousands.
        """
        point, group = re.escape(self.decimal), re.escape(self.group)
        forms = [rf"(?:^|[^0-9.,])0{point}[0-9]{{3}}(?:[^0-9]|$)"]
        if self.group:
            forms.append(f"[0-9]{group}[0-9]{{3}}[{re.escape(self.decimal + self.group)}][0-9]")
        return "|".join(forms)

    def fits(self, texts: pa.Array) -> np.ndarray:
        """(n,) whether each folded text is a number in this format."""
        body, unit = self._body, self.unit_pattern
        number, forms = body, []
        if unit:
            number = f"(?:{unit} *)?{body}(?: *{unit})?"
            forms = [f"{unit} *[-+] *{body}", rf"{unit} *\( *{body} *\)", f"{body} *- *{unit}"]
        forms += [f"[-+]? *{number}", f"{number} *-", rf"\( *{number} *\)"]
        found = pc.match_substring_regex(texts, f"^(?:{'|'.join(forms)})$")
        return pc.fill_null(found, False).to_numpy(zero_copy_only=False)

    def values(self, texts: pa.Array) -> np.ndarray:
        """(n,) the numbers in folded texts that all fit.

        NaN where a text is null, and where a double does not hold the number.
        """
        bare, negative = self._digits(texts)
        out = bare.cast(pa.float64()).to_numpy(zero_copy_only=False)
        lost = lost_texts(bare, out)
        out = np.where(negative, -out, out)
        out[lost] = np.nan
        return out

    def rounded(self, texts: pa.Array) -> str:
        """The digits of a whole number that a double rounds, in folded texts that all fit."""
        return first_lost(self._digits(texts)[0].to_pylist()) or ""

    def _digits(self, texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """(n,) the plain numbers in folded texts, and whether they are negative."""
        bare = texts
        if self.unit:
            bare = pc.replace_substring(texts, self.unit, "")
        if PLURAL.fullmatch(self.unit):
            bare = pc.replace_substring(bare, self.unit[:-1], "")
        negative = pc.match_substring_regex(bare, r"^ *[-(]|- *$")
        digits = pc.replace_substring(bare, self.group, "") if self.group else bare
        if self.decimal != ".":
            digits = pc.replace_substring(digits, self.decimal, ".")
        bare = pc.utf8_trim(digits, "-+() ")
        return bare, pc.fill_null(negative, False).to_numpy(zero_copy_only=False)

    def read(self, texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """The numbers of texts (n,), null where missing, and (n,) whether each cell was read."""
        plain = folded(texts)
        gone = texts.is_null().to_numpy(zero_copy_only=False)
        fits = self.fits(plain)
        plain = pc.if_else(pa.array(fits), plain, pa.scalar(None, plain.type))
        values = self.values(plain)
        fits &= ~np.isnan(values)
        return pa.array(values, mask=~fits), fits | gone


@dataclass(frozen=True)
class FoundNumbers:
    """The format of some texts, which texts fit, and another format that reads them otherwise."""

    format: NumberFormat
    fits: np.ndarray  # (t,) of the distinct texts
    other: NumberFormat | None = None
    example: int = -1  # a text that the other format reads as another number
    values: tuple[float, float] = (0.0, 0.0)  # of the example, by this format and the other one
    unitless: int = -1  # a text without the unit that the others have
    rounded: str = ""  # the digits of a whole number that a double would round
    against: int = -1  # a text that only this format fits; −1 if the other one fits all of them
    cells: tuple[int, int] = (0, 0)  # how many cells the other format fits, of those that this one


def find_number_format(texts: pa.Array, count: np.ndarray) -> FoundNumbers | None:
    """The format that most of the folded distinct texts (t,) fit, or None if few are numbers.

    count (t,) is how many cells have each text.
    """
    shapes = _shapes(texts, least=0.5)
    if not shapes:
        return None
    unit = _unit(shapes)
    formats = [replace(unit, decimal=decimal, group=group) for decimal, group in DECIMAL_MARKS]
    masks = [format_.fits(texts) for format_ in formats]
    best = max(int(mask.sum()) for mask in masks)
    if not best:
        return None
    tied = [at for at, mask in enumerate(masks) if int(mask.sum()) == best]
    at = _chosen(tied, texts, masks, unit)
    chosen, fits = formats[at], masks[at]
    seen = texts.filter(pa.array(fits))
    if _padded(seen) or _is_phone(chosen, seen):
        return None
    values, unitless, rounded = chosen.values(seen), -1, ""
    if np.isnan(values).any():
        lost = np.isnan(values)
        rounded = chosen.rounded(seen.filter(pa.array(lost)))
        fits = fits.copy()
        fits[np.flatnonzero(fits)[lost]] = False
        seen, values = seen.filter(pa.array(~lost)), values[~lost]
    if chosen.unit:
        having = pc.match_substring_regex(texts, chosen.unit_pattern)
        bare = fits & ~having.to_numpy(zero_copy_only=False)
        unitless = int(np.argmax(bare)) if bare.any() else -1
    found = FoundNumbers(chosen, fits, unitless=unitless, rounded=rounded)
    return _with_other(found, texts, values, count, list(zip(formats, masks, strict=True)))


def _with_other(
    found: FoundNumbers, texts: pa.Array, values: np.ndarray, count: np.ndarray,
    formats: list[tuple[NumberFormat, np.ndarray]],
) -> FoundNumbers:  # fmt: skip
    """What was found, with a format that reads nearly all cells as other numbers, if there is one.

    Cells that both formats read alike, such as 12, do not count.
    """
    fits, decides = found.fits, pc.match_substring_regex(texts, found.format.decisive)
    decides = pc.any(decides.filter(pa.array(found.fits))).as_py()
    n, fewest = int(count[fits].sum()), -1
    for other, mask in formats:
        both = fits & mask
        against = n - int(count[both].sum())
        if other == found.format or against * NEARLY_ALL > n or (decides and against):
            continue
        theirs, ours = other.values(texts.filter(pa.array(both))), values[mask[fits]]
        at = np.flatnonzero((theirs != ours) & ~np.isnan(theirs))
        differ = int(count[np.flatnonzero(both)[at]].sum())
        if not differ or against * NEARLY_ALL > differ + against or 0 <= fewest <= against:
            continue
        fewest = against
        found = replace(
            found,
            other=other,
            example=int(np.flatnonzero(both)[at[0]]),
            values=(float(ours[at[0]]), float(theirs[at[0]])),
            against=int(np.argmax(fits & ~mask)) if against else -1,
            cells=(n - against, n),
        )
    return found


def units_of(texts: pa.Array) -> list[str]:
    """The currencies and units of folded texts, the most frequent first, if most are numbers."""
    return [unit for unit, _ in _units(_shapes(texts, least=0.9)).most_common() if unit]


def _shapes(texts: pa.Array, least: float) -> list[re.Match[str]]:
    """The numbers among some of the texts; none if they are less than a share of these texts."""
    shown = some_texts(texts)
    shapes = [shape for text in shown if (shape := SHAPE.fullmatch(text))]
    return shapes if len(shapes) >= least * len(shown) else []


def _units(shapes: list[re.Match[str]]) -> Counter[str]:
    found = Counter(shape["before"] or shape["close"] or shape["apart"] or "" for shape in shapes)
    for unit in [unit for unit in found if PLURAL.fullmatch(unit)]:
        found[unit] += found.pop(unit[:-1], 0)  # 1 year, 2 years
    return found


def _unit(shapes: list[re.Match[str]]) -> NumberFormat:
    """A format with the most frequent unit, on the side where most numbers have it."""
    units = _units(shapes)
    for no_unit in ("", *EXPONENTS):
        units.pop(no_unit, None)
    if not units:
        return NumberFormat()
    unit, count = units.most_common(1)[0]
    if count <= max(3, len(shapes) // 20) and 2 * count < len(shapes):
        return NumberFormat()  # a few cells with a unit do not fit
    having = [s for s in shapes if unit in (s["before"], s["close"], s["apart"])]
    before = 2 * sum(shape["before"] == unit for shape in having) > len(having)
    spaced = re.compile(rf"{re.escape(unit)} |[0-9] +{re.escape(unit)}")
    apart = 2 * sum(bool(spaced.search(shape[0])) for shape in having) > len(having)
    return NumberFormat(unit=unit, before=before, apart=apart)


def _chosen(tied: list[int], texts: pa.Array, masks: list[np.ndarray], unit: NumberFormat) -> int:
    """The best of equally good marks.

    Forms like 9,955 are thousands, and forms like 9.955 are decimals, or thousands next to a
    currency. A writer who separates thousands does so in all numbers: 12345 decides for decimals.
    """
    at, marks = tied[0], [DECIMAL_MARKS[one] for one in tied]
    if len(tied) == 1 or not {(".", ","), (",", ".")} & set(marks):
        return at
    long = pc.match_substring_regex(texts.filter(pa.array(masks[at])), r"(?:^|[^0-9.,])[0-9]{4}")
    grouped = not pc.any(long).as_py()
    if DECIMAL_MARKS[at] == (".", ",") and not grouped and (",", "") in marks:
        return tied[marks.index((",", ""))]
    money = bool(unit.unit) and re.fullmatch(CURRENCY, unit.unit) is not None
    dotted = pc.any(pc.match_substring(texts, ".")).as_py()
    if DECIMAL_MARKS[at] == (".", "") and money and grouped and dotted and (",", ".") in marks:
        return tied[marks.index((",", "."))]
    return at


def _padded(texts: pa.Array) -> bool:
    """Whether a number starts with a zero before another digit, as in the code 01001."""
    return bool(pc.any(pc.match_substring_regex(texts, "^[^0-9]*0[0-9]")).as_py())


def _is_phone(format_: NumberFormat, texts: pa.Array) -> bool:
    """Whether blocks of digits with spaces are telephone numbers: all long and of one length."""
    if format_.group != " " or format_.unit:
        return False
    if pc.all(pc.starts_with(texts, "+")).as_py():
        return True
    if pc.any(pc.match_substring_regex(texts, "[0-9][.,][0-9]")).as_py():
        return False  # a telephone number has no decimals
    lengths = pc.min_max(pc.utf8_length(texts)).as_py()
    digits = pc.min(pc.utf8_length(pc.replace_substring_regex(texts, "[^0-9]", ""))).as_py()
    return len(texts) > 1 and lengths["min"] == lengths["max"] and digits >= LEAST_DIGITS_OF_PHONE
