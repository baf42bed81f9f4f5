"""`verosim info`: what is in a model file."""

from __future__ import annotations

from typing import Any

from verosim.cli.console import show
from verosim.cli.models import read_file, shown, summary
from verosim.cli.options import Debug, Json, ModelFile, Quiet
from verosim.terminal import named_lines


def info_command(
    model: ModelFile, json: Json = False, quiet: Quiet = False, debug: Debug = False
) -> None:
    """Print what is in a model file: the model, its columns, its notes and its hashes.

    \b
    Example:
      verosim info loans.verosim
    """
    import hashlib

    fitted, content = read_file(model)
    notes, scores = content["notes"] or {}, content["scores"]
    raw = model.read_bytes()
    found: dict[str, Any] = {"model": repr(fitted)}
    schema, classes = None, None
    if getattr(fitted, "__sklearn_is_fitted__", lambda: False)():
        state = fitted.checked_state() if hasattr(fitted, "checked_state") else None
        schema = None if state is None else state.schema
        classes = getattr(fitted, "classes_", None)
        found |= summary(fitted)
    sha = hashlib.sha256(raw).hexdigest()
    texts = {"model": found["model"]} | shown(found)
    if classes is not None:
        found["classes"] = classes
        texts["classes"] = ", ".join(map(str, classes.tolist()[:20])) + (
            f" and {len(classes) - 20} more" if len(classes) > 20 else ""
        )
    if schema is not None:
        found["target"] = schema.target
        found["columns"] = {column.name: column.role for column in schema.columns}
    if "fingerprint" not in found and "rows" in found:
        texts["statistics"] = "none: this model can only predict"
    if scores is not None:
        texts["scores"] = str(scores)
        found["scores"] = {
            **scores.scores, "rows": scores.rows, "log_density": scores.log_density,
        }  # fmt: skip
    for name, value in notes.items():
        texts[f"note {name}"] = _note(value)
    texts |= {"format": str(content["format"]), "bytes": f"{len(raw):,}", "SHA-256": sha}
    data = {**found, "notes": notes, "format": content["format"], "bytes": len(raw), "sha256": sha}
    text = "\n".join(named_lines(texts))
    show(data, text if schema is None else f"{text}\n\n{schema}")


def _note(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_note(one)}" for name, one in value.items())
    return f"{value:.4f}" if isinstance(value, float) else str(value)
