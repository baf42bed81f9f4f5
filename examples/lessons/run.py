"""Run a lesson: compute its numbers and save its picture, in English or in Spanish.

The texts of a picture are written in English. For the Spanish picture they are replaced after
drawing, so a lesson is drawn by one function.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from examples.lessons.style import STYLE

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
LANGUAGES = ("en", "es")


def lesson(name: str) -> ModuleType:
    return import_module(f"examples.lessons.{name}")


def picture_of(name: str, language: str = "en", folder: Path = PICTURES) -> Path:
    """Where the picture of a lesson is saved."""
    return folder / (f"lesson_{name}.png" if language == "en" else f"lesson_{name}_{language}.png")


def save(name: str, found: Any, path: Path, language: str = "en") -> None:
    """Draw the result of a lesson into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

    module = lesson(name)
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=module.SIZE, layout="constrained")
        module.draw(found, figure)
        if language == "es":
            translate(figure, module.SPANISH)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Software": None})
        plt.close(figure)
    # A palette of 256 colours makes the file two to four times smaller.
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def translate(figure: Any, texts: dict[str, str]) -> None:
    """Replace each English phrase of a picture by the Spanish one, long phrases first."""
    phrases = sorted(texts, key=len, reverse=True)
    for artist in texts_of(figure):
        text = artist.get_text()
        for phrase in phrases:
            text = text.replace(phrase, texts[phrase])
        artist.set_text(text)


def texts_of(figure: Any) -> list[Any]:
    """The texts of a picture that contain words, without the labels of ticks."""
    from matplotlib.text import Text

    ticks = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
    }
    found = [artist for artist in figure.findobj(Text) if artist not in ticks]
    return [artist for artist in found if any(letter.isalpha() for letter in artist.get_text())]
