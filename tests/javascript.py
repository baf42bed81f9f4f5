"""The evaluator of pages in Node, for the tests."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from typing import Any

import numpy as np

from verosim.insight.report.characters import characters_of
from verosim.insight.report.scripts import evaluator

NODE = shutil.which("node") or shutil.which("nodejs")
EVALUATE = """
const { program, characters, rows } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const plain = (x) => (x === null || Number.isFinite(x) ? x : String(x));
const found = new Program(program, characters);
const out = rows.map((cells) => {
  const { scores, logPosterior, logDensity } = found.evaluate(cells);
  return [scores.map(plain), logPosterior && logPosterior.map(plain), plain(logDensity)];
});
process.stdout.write(JSON.stringify(out));
"""


def run(script: str, data: Any) -> Any:
    """The JSON that a script prints, after the evaluator was defined."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", f'"use strict";\n{evaluator()}\n{script}'],
        input=json.dumps(data), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def scores_in_javascript(text: str, rows: list[dict[str, Any]]) -> np.ndarray:
    """(n, C) the scores of a program, given as JSON, for rows of typed cells."""
    program = json.loads(text)
    data = {"program": program, "characters": characters_of(program), "rows": rows}
    found = run(EVALUATE, data)
    return np.array([[float(x) if x != "-Infinity" else -math.inf for x in s] for s, _, _ in found])
