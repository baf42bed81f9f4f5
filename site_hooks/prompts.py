"""The copy button copies code that runs: no prompts, no output.

The theme copies the attribute "data-copy" of a block if the block has one, so no script is needed.
"""

from __future__ import annotations

import ast
import doctest
import html
import re
from typing import Any

FENCE = re.compile(r"^( *)```python\n(?= *>>> )", re.MULTILINE)
BLOCK = re.compile(r'<div class="([^"]*\bhighlight)">(<pre>.*?</pre>)', re.DOTALL)


def code_of(text: str) -> str:
    """The statements of a session at the prompt, with an empty line after each loop and function.

    The prompt needs the empty line to know that a loop or function has ended.
    """
    found = ""
    for example in doctest.DocTestParser().get_examples(text):
        ends_block = hasattr(ast.parse(example.source).body[-1], "body")
        found += example.source + ("\n" if ends_block else "")
    return found


def with_code_to_copy(page: str) -> str:
    """A page's HTML with the code of every block that shows a session at the prompt."""

    def marked(match: re.Match[str]) -> str:
        code = code_of(html.unescape(re.sub(r"<[^>]*>", "", match[2])))
        if not code:
            return match[0]
        return f'<div class="{match[1]}" data-copy="{html.escape(code)}">{match[2]}'

    return BLOCK.sub(marked, page)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page: blocks with prompts are coloured as sessions."""
    return FENCE.sub(r"\1```pycon\n", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs for each page, after Markdown became HTML."""
    return with_code_to_copy(html)
