"""What is in a model file in addition to the model: notes, scores and hashes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

from verosim.arguments import checked
from verosim.files.held_out_scores import HeldOutScores
from verosim.files.store import MAX_BYTES, counted_rows, file_bytes, opened_file
from verosim.terminal import named_lines


@dataclass(frozen=True)
class ModelInfo:
    """What is in a model file in addition to the model, the result of :func:`~verosim.info`.

    Attributes
    ----------
    model : str
        The model with its settings, as text.
    rows : float or None
        The number of rows that the model has counted. None if it does not count rows.
    has_statistics : bool
        Whether the file has the sums of the rows. A model without them can only predict.
    notes : dict
        The notes of the user.
    scores : HeldOutScores or None
        The scores of held-out rows, if they were saved.
    format : int
        The version of the format.
    bytes : int
        The size of the file.
    sha256 : str
        The SHA-256 of the file.

    References
    ----------
    The safetensors format, https://github.com/huggingface/safetensors.

    Examples
    --------
    >>> import pathlib, tempfile, verosim
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.verosim"
    >>> verosim.save(verosim.LDA(), path, notes={"source": "none"})
    >>> found = verosim.info(path)
    >>> found.model, found.rows, found.notes, found.scores
    ('LDA()', None, {'source': 'none'}, None)
    """

    model: str
    rows: float | None
    has_statistics: bool
    notes: dict[str, Any]
    scores: HeldOutScores | None
    format: int
    bytes: int
    sha256: str

    def __str__(self) -> str:
        lines = {"model": self.model}
        if self.rows is not None:
            lines["rows"] = f"{self.rows:,.10g}"
            lines["statistics"] = "yes" if self.has_statistics else "no: it can only predict"
        if self.scores is not None:
            lines["scores"] = str(self.scores)
        lines |= {f"note {name}": str(value) for name, value in self.notes.items()}
        lines |= {
            "format": str(self.format), "bytes": f"{self.bytes:,}", "SHA-256": self.sha256,
        }  # fmt: skip
        return "\n".join(named_lines(lines))


@checked
def info(path: str | os.PathLike[str], *, max_bytes: int | None = MAX_BYTES) -> ModelInfo:
    """Read what is in a model file in addition to the model: notes, scores and hashes.

    The whole file is read and checked, as `load` does it.

    Parameters
    ----------
    path : str or Path
        The file to read.
    max_bytes : int or None, default=4294967296
        The most memory that the model may need. None means no limit. The size is checked before
        memory is taken.

    Returns
    -------
    ModelInfo
        The notes, the scores of held-out rows, and the hashes.

    Raises
    ------
    VerosimError
        If the file does not exist, or if it is damaged, too large, not a model, or of a newer
        version of verosim.

    References
    ----------
    The safetensors format, https://github.com/huggingface/safetensors.

    Examples
    --------
    >>> import pathlib, tempfile, verosim
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.verosim"
    >>> scores = verosim.cross_validate(verosim.LDA(), X, y, log_density=True)
    >>> verosim.save(verosim.LDA().fit(X, y), path, scores=scores)
    >>> found = verosim.info(path).scores
    >>> found.rows, round(found.scores["accuracy"], 2), round(found.log_density[0], 2)
    (150.0, 0.98, -1.89)
    """
    raw = file_bytes(path, max_bytes)
    model, content = opened_file(raw, max_bytes)
    return ModelInfo(
        model=repr(model), rows=counted_rows(model), has_statistics=has_sums(model),
        notes=content["notes"] or {}, scores=content["scores"], format=content["format"],
        bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest(),
    )  # fmt: skip


def has_sums(model: Any) -> bool:
    """Whether a model has the sums of its rows."""
    inside = getattr(model, "model_", model)
    state = getattr(inside, "state_", None)
    return state is not None and all(leaf.has_sums for leaf in state.statistic.leaves())
