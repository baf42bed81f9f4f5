"""The models that `fit --model` knows by name, with their settings."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from verosim.cli.options import parsed, usage_error

OTHER_NAMES = {"logistic": "logisticregression", "svm": "linearsvm", "nb": "naivebayes"}
NOT_CLASSIFIERS = ("Whiten",)
INNER_MODEL = {"onevsrest": "lda", "onevsone": "lda"}  # the usual one is naivebayes


def model_kinds() -> dict[str, Any]:
    """The public classifiers by name, in small letters."""
    import verosim
    from verosim.files.models import SAVED_MODELS

    public = set(dir(verosim)) - set(NOT_CLASSIFIERS)
    return {
        kind.__name__.lower(): kind for kind in SAVED_MODELS.values() if kind.__name__ in public
    }


def named_model(name: str, settings: dict[str, str]) -> Any:
    """The model with a name in any case, such as lda, with its settings.

    A model of another model, such as calibrated, gets it by name: --set model=lda.
    """
    kinds = model_kinds()
    wanted = name.lower().replace("_", "").replace("-", "")
    wanted = OTHER_NAMES.get(wanted, wanted)
    if wanted not in kinds:
        raise usage_error(f"--model must be one of {', '.join(sorted(kinds))}; got {name!r}.")
    kind = kinds[wanted]
    settings = dict(settings)
    inner = [
        named_model(settings.pop(one.name, INNER_MODEL.get(wanted, "naivebayes")), {})
        for one in signature(kind).parameters.values() if one.default is Parameter.empty
    ]  # fmt: skip
    model = kind(*inner)
    known = model.get_params().keys()
    unknown = sorted(settings.keys() - known)
    if unknown:
        raise usage_error(
            f"{kind.__name__} has no setting {unknown[0]!r}; it has "
            f"{', '.join(sorted(known)) or 'none'}."
        )
    return model.set_params(**{name: parsed(text) for name, text in settings.items()})
