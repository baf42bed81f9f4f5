"""The values that a model file may contain, in addition to sums: a fixed list of dataclasses.

    record  ⇄  (name of the class, values of its fields)

A file only names a class of this list. The types of the fields are those of the annotations, and
the shapes of their arrays are checked, because compiled loops trust them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Any, get_type_hints

from verosim.axes import CODES_BY_NAME, Codes
from verosim.errors import VerosimError
from verosim.files.compact import Covariances, compact
from verosim.files.fits import fits
from verosim.files.named_classes import NamedClasses
from verosim.files.shapes import check_estimates, check_shapes
from verosim.stats.codec import DATA_ERRORS
from verosim.stats.plain_trees import damaged

RECORDS = NamedClasses({
    "axes": "Columns",
    "data.lift": "Lift",
    "data.tokens": "Tokenizer",
    "bayes.rule": "Decision Rule",
    "densities.base": "LinearForm",
    "bayes.linear": "LinearScores",
    "linalg": "Inverse",
    "densities.columns": "Certain ColumnParams ComplementParams",
    "densities.context_tables": "ContextParams",
    "densities.discrete": "CodeParams",
    "densities.histogram": "BinParams CellParams",
    "densities.full_params": "FullParams",
    "densities.em": "EMParams Convergence",
    "files.compact": "Covariances",
    "densities.gaussian": "DiagonalParams",
    "densities.poisson": "PoissonParams",
    "densities.interactions": "Interactions PairedParams",
    "densities.lifted": "LiftedScores",
    "densities.mixture": "MixtureParams",
    "densities.one_dependence": "OneDependenceParams",
    "densities.product": "ProductParams",
    "densities.term_ridge": "TermScores",
    "densities.text": "TextParams",
    "twins.least_squares": "OneHotScores LeastSquaresSpec",
    "pool.params": "PoolParams",
    "pool.weighted_pairs": "PairScores WeightedPairsSpec",
    "pool.text_svm": "MarginScores TextSVMSpec",
    "twins.twin": "FeatureScores",
    "densities.features": (
        "Deviations Squares SquaresAndProducts Amounts "
        "Presence Indicators TokenAmounts SideBySide"
    ),
    "twins.perceptron": "PerceptronCourse",
    "files.feature_maps": "PolynomialMap FourierMap",
    "estimators.aode": "OneDependenceSpec",
    "estimators.bernoulli_nb": "BernoulliSpec",
    "estimators.categorical_nb": "CategoricalSpec",
    "estimators.complement_nb": "ComplementSpec",
    "estimators.discriminant": "FullSpec LDASpec RDASpec",
    "estimators.encoded": "EncodedLDASpec EncodedRDASpec EncodedSpec",
    "estimators.gaussian_spec": "DiagonalSpec",
    "estimators.histogram": "HistogramSpec",
    "estimators.joint_histogram": "JointHistogramSpec",
    "estimators.kdb": "RankedSpec",
    "estimators.lifted_lda": "LiftedSpec",
    "estimators.mixture.settings": "MixtureSpec FoundMixture",
    "estimators.multinomial_nb": "MultinomialSpec",
    "estimators.paired": "PairedSpec",
    "estimators.table_spec": "TableSpec",
    "estimators.tan": "TreeSpec",
    "estimators.text": "TextSpec",
    "estimators.text_ridge": "TextRidgeSpec",
    "pool.spec": "PoolSpec",
    "pool.text_spec": "TextPoolSpec",
    "estimators.mixture.fitting": "MixtureSettings",
    "estimators.mixture.choice": "Tried Amount",
    "pool.experts": "Expert",
    "pool.mixing": "Mixing",
    "pool.result": "Candidate Candidates",
    "validate.calibration_maps": "Temperature Isotonic CalibratedRule",
    "validate.length_map": "LengthMap",
    "validate.column_weights": "ColumnWeights",
    "validate.nonconformity": "NonconformityScores",
    "validate.reliability": "Reliability",
    "files.held_out_scores": "HeldOutScores",
})  # fmt: skip
BASES = NamedClasses({
    "densities.base": "ClassScores Params",
    "densities.features": "Expansion",
    "validate.calibration_maps": "PosteriorMap",
})  # fmt: skip


class _Names(Mapping[str, Any]):
    """The names that the types of fields may use. Only those that occur are imported."""

    def __getitem__(self, name: str) -> Any:
        for known in (RECORDS, BASES, CODES_BY_NAME):
            if name in known:
                return known[name]
        return {"Codes": Codes}[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*RECORDS, *BASES, *CODES_BY_NAME, "Codes"))

    def __len__(self) -> int:
        return len(list(iter(self)))


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """The declared type of each field of a record."""
    found = get_type_hints(kind, localns=_Names())
    # The model of a candidate may also be an expert that is not an estimator.
    return {name: Any if name == "model" else found[name] for name in field_names(kind)}


@cache
def field_names(kind: type) -> list[str]:
    """The fields of a record that its constructor has."""
    if not is_dataclass(kind):
        return list(get_type_hints(kind))
    return [field.name for field in fields(kind) if field.init]


def record_tree(one: Any) -> tuple[str, dict[str, Any]] | None:
    """The name and the values of a record, or None if it is not in the list."""
    one = compact(one)
    kind: type = type(one)
    if not RECORDS.has(kind):
        return None
    name = kind.__name__
    one = one.fixed() if name == "Lift" else one
    one = replace(one, seconds=math.nan) if name == "Candidate" else one  # a file has no times
    return name, {field: getattr(one, field) for field in field_names(kind)}


def built_record(name: str, values: Any) -> Any:
    """The record with a name of the list, with checked types and shapes."""
    kind = RECORDS[name]
    if not isinstance(values, dict):
        raise damaged(f"{name} has no fields")
    known = field_names(kind)
    unknown = [field for field in values if field not in known]
    lost = [field for field in known if field not in values and not _has_default(kind, field)]
    if unknown or lost:
        raise damaged(f"{name} has not the field {(*unknown, *lost)[0][:40]!r}")
    for field, hint in hints_of(kind).items():
        if field in values and not fits(values[field], hint):
            raise damaged(f"the field {field!r} of {name} has a wrong type")
    try:
        out = kind(**values)
        check_shapes(out, known)
        if isinstance(out, Covariances):
            out = out.complete()
            check_estimates(out)
    except VerosimError:
        raise
    except DATA_ERRORS as error:
        raise damaged(f"{name} has wrong values ({type(error).__name__})") from error
    return out


def _has_default(kind: type, name: str) -> bool:
    """Whether a file of an older version may lack this field."""
    if not is_dataclass(kind):
        return False
    (field,) = (field for field in fields(kind) if field.name == name)
    return field.default is not MISSING or field.default_factory is not MISSING
