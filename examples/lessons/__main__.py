"""Draw lessons.

python -m examples.lessons                     the names of the lessons
python -m examples.lessons far_points          print the numbers of one lesson and draw it
python -m examples.lessons --all               all lessons, in English and in Spanish
python -m examples.lessons --notebooks FOLDER  write the lessons as notebooks
"""

from __future__ import annotations

import argparse
from pathlib import Path

from examples.lessons import NAMES
from examples.lessons.notebooks import write_all
from examples.lessons.run import LANGUAGES, lesson, picture_of, save


def main() -> None:
    parser = argparse.ArgumentParser("python -m examples.lessons", description="Draw lessons.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the lessons to draw")
    parser.add_argument("--all", action="store_true", help="draw all lessons in both languages")
    parser.add_argument("--language", choices=LANGUAGES, help="draw in this language only")
    parser.add_argument("--out", type=Path, help="the folder of the pictures")
    parser.add_argument("--notebooks", type=Path, metavar="FOLDER", help="write notebooks")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"No lesson has the name {unknown[0]!r}. The names are: {', '.join(NAMES)}.")
    if options.notebooks:
        for path in write_all(options.notebooks):
            print(path)
        return
    if not options.names and not options.all:
        for name in NAMES:
            print(f"{name:<24} {(lesson(name).__doc__ or '').splitlines()[0]}")
        return
    folder = {"folder": options.out} if options.out else {}
    languages = (options.language,) if options.language else LANGUAGES
    for name in NAMES if options.all else options.names:
        found = lesson(name).learn()
        print(found)
        for language in languages:
            path = picture_of(name, language, **folder)
            save(name, found, path, language)
            print(f"The picture is in {path}.\n")


if __name__ == "__main__":
    main()
