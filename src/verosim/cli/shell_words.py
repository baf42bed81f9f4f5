"""Hints of the library name arguments of Python. Here they become options of the command line."""

from __future__ import annotations

import re

WRITTEN = " -o schema.json and --schema schema.json"  # `look` has --as itself
AS_KIND = rf"look --as '\1=\2'{WRITTEN}"
# Each pattern of Python, and the option that does the same.
OPTIONS = (
    (r"schema=verosim\.look\(…\)\.edit\(\{'([^']*)': '([^']*)'\}\)", AS_KIND),
    (r"fit\(…, schema=verosim\.look\(source\)\)", f"look{WRITTEN}"),
    (r"columns=\{'([^']*)': '([^']*)'\}", AS_KIND),
    (r"columns=\{name: 'ignore'\}", "look --as 'name=ignore'"),
    (r"columns=\('([^']*)', '([^']*)'\)", r"--column '\1' --column '\2'"),
    (r"na=\['([^']*)'\]", r"--na '\1'"),
    (r"unlabelled=\"skip\"", "--skip-unlabelled"),
    (r"read=dict\((\w+)=\"([^\"]*)\"\)", r"--read \1='\2'"),
    (r"read=dict\((\w+)='([^']*)'\)", r"--read \1='\2'"),
    (r"read=dict\((\w+)=…\)", r"--read \1=…"),
    (r"auto\(…, like=pool\)", "fit --model naivebayes --schema schema.json for both"),
    (r"Save the model with statistics=True, or fit it again", "Fit it without --no-statistics"),
    (r"Use frame\.\w+\(\), or write Parquet files, which verosim reads in pieces",
     "Leave out --engine: verosim reads files in pieces"),
    (r"auto\(…, simple=True\), which", "--simple, which"),
    (r"a larger max_bytes", "verosim.load(path, max_bytes=…) in Python"),
)  # fmt: skip


def for_shell(text: str) -> str:
    """A text with options of the command line in place of arguments of Python."""
    for pattern, option in OPTIONS:
        text = re.sub(pattern, option, text)
    return text
