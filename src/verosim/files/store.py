"""A model as a file that is data: it contains no code, and reading it runs none.

    model  ⇄  sums, schema, parameters and values that fit chose  ⇄  one safetensors file

The same model gives the same bytes. A file is written beside the old one, synced and renamed, so
there is the old file or the new file, and never a part of one.
Reference: https://github.com/huggingface/safetensors, section Format.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from verosim.arguments import checked
from verosim.axes import CODES_BY_NAME, Codes
from verosim.bayes.rule import Decision
from verosim.data.schema import Schema
from verosim.errors import VerosimError, writing
from verosim.estimators.one_state import snapshot
from verosim.files.held_out_scores import HeldOutScores, SavedScores, held_out_scores
from verosim.files.models import SAVED_MODELS, SavedState, built_model, foreign, model_tree
from verosim.files.records import RECORDS, built_record, record_tree
from verosim.stats.codec import DATA_ERRORS, checked_statistic
from verosim.stats.plain_trees import damaged, packed_tree, unpacked_tree
from verosim.stats.state import is_restorable
from verosim.stats.tensor_files import read_tensors, tensor_file
from verosim.whole_files import whole_file

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

FILE_FORMAT = 1
MAX_BYTES = 4 << 30
FILE_FIELDS = {"format", "class", "model", "notes", "scores"}


@checked
def dumps(
    model: BaseEstimator,
    *,
    notes: Mapping[str, Any] | None = None,
    scores: SavedScores | None = None,
    statistics: bool = True,
) -> bytes:
    """Write a model to bytes that contain data and no code.

    The same model gives the same bytes, also in another process.

    Parameters
    ----------
    model : estimator
        A model of verosim, fitted or not.
    notes : dict or None, default=None
        Anything that you want to keep with the model: texts, numbers, lists and dicts.
    scores : CrossValidation, Choice, Candidates, HeldOutScores, dict or None, default=None
        The scores of held-out rows to keep with the model: a result of `cross_validate` or `auto`,
        or a dict of names and numbers. `verosim.info` reads them. Rows that are added later do not
        change them, so save the model without them, or with new ones, after such a change.
    statistics : bool, default=True
        Whether the sums of the training rows are saved. Without them, the bytes say less about the
        rows. They are fewer too, except for models of counts, which need more bytes for their
        probabilities than for their counts. The model predicts the same, but it cannot merge,
        forget, add rows or change its settings.

    Returns
    -------
    bytes
        The bytes of a safetensors file.

    Raises
    ------
    VerosimError
        If the model contains code from outside of verosim, such as a function or another
        estimator.

    References
    ----------
    The safetensors format, https://github.com/huggingface/safetensors.

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> raw = verosim.dumps(verosim.LDA().fit(X, y))
    >>> verosim.loads(raw).predict(X[:2])
    array([0, 0])
    """
    if not SAVED_MODELS.has(type(model)):
        raise foreign(model, "The model")

    def hook(one: Any) -> tuple[str, Any] | None:
        if is_restorable(one):
            return "statistic", one.state()
        if isinstance(one, Codes):
            return "codes", [type(one).__name__, one.state()]
        if isinstance(one, Schema):
            return "schema", one.to_json()
        if isinstance(one, SavedState):
            return "state", {
                "statistic": one.statistic, "schema": one.schema, "tuned": one.tuned,
                "rule": one.rule,
            }  # fmt: skip
        if SAVED_MODELS.has(type(one)):
            return "model", model_tree(one, statistics)
        found = record_tree(one)
        if found is not None:
            return found
        if callable(one) or hasattr(one, "fit"):
            raise foreign(one, "A part of the model")
        return None

    if notes is not None and not isinstance(notes, Mapping):
        raise VerosimError(
            f"notes must be a dict; got {type(notes).__name__}.", "Use notes={'source': 'loans'}."
        )
    tree = {
        "model": snapshot(model), "notes": None if notes is None else dict(notes),
        "scores": None if scores is None else held_out_scores(scores, counted_rows(model) or 0.0),
    }  # fmt: skip
    node, tensors = packed_tree(tree, hook)
    parts = dict(node["of"])
    content = {
        "format": FILE_FORMAT, "class": type(model).__name__, "model": parts["model"],
        "notes": parts["notes"], "scores": parts["scores"],
    }  # fmt: skip
    return tensor_file(content, tensors)


@checked
def loads(raw: bytes, *, max_bytes: int | None = MAX_BYTES) -> Any:
    """Read a model from the bytes of `dumps`. No code in the bytes is run.

    Parameters
    ----------
    raw : bytes
        The bytes of a model file.
    max_bytes : int or None, default=4294967296
        The most memory that the model may need. None means no limit. The size is checked before
        memory is taken.

    Returns
    -------
    estimator
        The model. Its predictions are equal to those of the saved model.

    Raises
    ------
    VerosimError
        If the bytes are damaged, too large, not of a model, or of a newer version of verosim.

    References
    ----------
    The safetensors format, https://github.com/huggingface/safetensors.

    Examples
    --------
    >>> import verosim
    >>> verosim.loads(verosim.dumps(verosim.LDA(shrinkage=0.1)))
    LDA(shrinkage=0.1)
    """
    model, _ = opened_file(raw, max_bytes)
    return model


@checked
def save(
    model: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
    scores: SavedScores | None = None,
    statistics: bool = True,
) -> None:
    """Write a model to a file that contains data and no code.

    The file replaces an older file whole or not at all. The same model gives the same bytes.

    Parameters
    ----------
    model : estimator
        A model of verosim, fitted or not.
    path : str or Path
        The file to write, such as "loans.verosim".
    notes : dict or None, default=None
        Anything that you want to keep with the model: texts, numbers, lists and dicts.
    scores : CrossValidation, Choice, Candidates, HeldOutScores, dict or None, default=None
        The scores of held-out rows to keep with the model: a result of `cross_validate` or `auto`,
        or a dict of names and numbers. `verosim.info` reads them. Rows that are added later do not
        change them, so save the model without them, or with new ones, after such a change.
    statistics : bool, default=True
        Whether the sums of the training rows are saved. Without them, the file says less about the
        rows. It is smaller too, except for models of counts, which need more bytes for their
        probabilities than for their counts. The model predicts the same, but it cannot merge,
        forget, add rows or change its settings.

    Raises
    ------
    VerosimError
        If the model contains code from outside of verosim, or if the file cannot be written.

    References
    ----------
    The safetensors format, https://github.com/huggingface/safetensors.

    Examples
    --------
    >>> import pathlib, tempfile, verosim
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.verosim"
    >>> verosim.save(verosim.LDA().fit(X, y), path, notes={"source": "iris"})
    >>> verosim.load(path).predict(X[:2])
    array([0, 0])
    """
    raw = dumps(model, notes=notes, scores=scores, statistics=statistics)
    with writing(path), whole_file(path) as file:
        file.write(raw)


@checked
def load(path: str | os.PathLike[str], *, max_bytes: int | None = MAX_BYTES) -> Any:
    """Read a model from a file of `save`. No code in the file is run.

    Parameters
    ----------
    path : str or Path
        The file to read.
    max_bytes : int or None, default=4294967296
        The most memory that the model may need. None means no limit. The size is checked before
        memory is taken.

    Returns
    -------
    estimator
        The model. Its predictions are equal to those of the saved model.

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
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.verosim"
    >>> verosim.save(verosim.GaussianNB(), path)
    >>> verosim.load(path)
    GaussianNB()
    """
    return loads(file_bytes(path, max_bytes), max_bytes=max_bytes)


def file_bytes(path: str | os.PathLike[str], max_bytes: int | None) -> bytes:
    """The bytes of a file that is not too large."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if max_bytes is not None and size > max_bytes:
                raise VerosimError(
                    f"The file has {size:,} bytes, and max_bytes is {max_bytes:,}.",
                    "Use a larger max_bytes if you trust the file.",
                )
            return file.read()
    except OSError as error:
        raise VerosimError(
            f"The file {os.fspath(path)!r} cannot be read: {error.strerror or error}.",
            "Check the path of the file.",
        ) from error


def opened_file(raw: bytes, max_bytes: int | None) -> tuple[Any, dict[str, Any]]:
    """The model and the description of a file."""
    content, tensors = file_content(raw, max_bytes)
    parts = unpacked_parts(content, tensors, built_object)
    model = parts["model"]
    if not SAVED_MODELS.has(type(model)) or type(model).__name__ != content["class"]:
        raise damaged("it is not a model")
    return model, {"format": content["format"], "notes": parts["notes"], "scores": parts["scores"]}


def file_content(raw: bytes, max_bytes: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description of a file and its tensors. The model is not built."""
    if not isinstance(raw, bytes | bytearray | memoryview):
        raise VerosimError(
            f"The argument raw must be bytes; got {type(raw).__name__}.", "Use load(path)."
        )
    content, tensors = read_tensors(bytes(raw), max_bytes)
    if not isinstance(content, dict) or type(content.get("format")) is not int:
        raise damaged("it is not a model")
    if content["format"] > FILE_FORMAT:
        raise VerosimError(
            f"The file has format {content['format']}, and this version of verosim reads formats "
            f"up to {FILE_FORMAT}.",
            "Install a newer version of verosim.",
        )
    if content["format"] < 1 or content.keys() != FILE_FIELDS:
        raise damaged("its description has unknown fields")
    return content, tensors


def unpacked_parts(
    content: dict[str, Any], tensors: dict[str, Any], build: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """The model, the notes and the scores of a file. `build` makes the objects in them."""
    inside = ("model", "notes", "scores")
    tree = {"is": "dict", "of": [[name, content[name]] for name in inside]}
    try:
        parts: dict[str, Any] = unpacked_tree(tree, tensors, build)
    except VerosimError:
        raise
    except DATA_ERRORS as error:
        raise damaged(f"its parts do not fit ({type(error).__name__})") from error
    kinds = {"notes": dict | None, "scores": HeldOutScores | None}
    if not all(isinstance(parts[name], kind) for name, kind in kinds.items()):
        raise damaged("its notes or its scores have a wrong type")
    return parts


def counted_rows(model: Any) -> float | None:
    """The number of rows that a model has counted, if it counts rows."""
    state = getattr(getattr(model, "model_", model), "state_", None)
    return None if state is None else float(state.statistic.rows.sum())


def built_object(tag: str, tree: Any) -> Any:
    """The object of a tree. The kinds of objects are those of the code."""
    if tag in RECORDS:
        return built_record(tag, tree)
    if tag == "model":
        return built_model(tree)
    if tag == "statistic":
        return checked_statistic(tree)
    if tag == "state":
        return _built_state(tree)
    try:
        if tag == "codes":
            kind, state = tree
            return CODES_BY_NAME[kind].from_state(state)
        if tag == "schema":
            return Schema.from_json(tree)
    except VerosimError:
        raise
    except DATA_ERRORS as error:
        raise damaged(f"its {tag} is wrong ({type(error).__name__})") from error
    raise damaged(f"{tag[:40]!r} is not a kind of data")


def _built_state(tree: Any) -> SavedState:
    if not isinstance(tree, dict) or tree.keys() != {"statistic", "schema", "tuned", "rule"}:
        raise damaged("a state has unknown fields")
    out = SavedState(**tree)
    kinds = {"schema": Schema | None, "tuned": dict, "rule": Decision | None}
    fits = all(isinstance(tree[name], kind) for name, kind in kinds.items())
    if not fits or not is_restorable(tree["statistic"]):
        raise damaged("a state has parts of a wrong type")
    return out
