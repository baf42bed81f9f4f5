"""Files of every format version can be read, and their models predict what they predicted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verosim
from tests.reference_files import FOLDER, NOTES, SCORES, answer, rows_of_models
from verosim import VerosimError
from verosim.files.store import FILE_FORMAT
from verosim.stats.tensor_files import read_tensors, tensor_file

FORMATS = sorted(folder.name for folder in FOLDER.iterdir())
FILES = sorted(FOLDER.glob("*/*.verosim"))


def test_there_are_files_of_every_format():
    assert [f"format_{i}" for i in range(1, FILE_FORMAT + 1)] == FORMATS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_file_of_a_format_predicts_as_recorded(path):
    name = path.stem.removesuffix(" without sums")
    recorded = json.loads((path.parent / "answers.json").read_text())[name]
    model, found = verosim.load(path), verosim.info(path)
    assert repr(model) == recorded["model"]
    assert (found.notes, found.scores.scores) == (NOTES, SCORES)
    rows = rows_of_models()[name]
    expected = np.array(recorded["answer"])
    # Another processor can round differently, so the last digits may differ.
    np.testing.assert_allclose(np.array(answer(model, rows)), expected, rtol=1e-9, atol=1e-12)
    if path.stem == name and "fingerprint" in recorded:
        assert model.stats_.fingerprint() == recorded["fingerprint"]


def test_a_newer_format_is_refused_with_its_number():
    content, tensors = read_tensors(FILES[0].read_bytes())
    for newer in (FILE_FORMAT + 1, 1 << 40):
        data = tensor_file({**content, "format": newer, "a new field": {"is": "new"}}, tensors)
        with pytest.raises(VerosimError, match=f"has format {newer}, .* up to {FILE_FORMAT}") as e:
            verosim.loads(data)
        assert e.value.hint == "Install a newer version of verosim."
    for wrong in (0, -1, 1.0, "1", None, True):
        with pytest.raises(VerosimError, match="damaged"):
            verosim.loads(tensor_file({**content, "format": wrong}, tensors))
