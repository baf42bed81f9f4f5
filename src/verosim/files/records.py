"""The values that a model file may contain, in addition to sums: a fixed list of dataclasses.

    record  ⇄  (name of the class, values of its fields)

A file only names a class of this list. The types of the fields are those of the annotations, and
the shapes of their arrays are checked, because compiled loops trust them.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Any, get_type_hints

from verosim.axes import CODES_BY_NAME, Codes, Columns
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Decision, Rule
from verosim.data.lift import Lift
from verosim.data.tokens import Tokenizer
from verosim.densities.base import ClassScores, LinearForm, Params
from verosim.densities.columns import Certain, ColumnParams, ComplementParams
from verosim.densities.context_tables import ContextParams
from verosim.densities.discrete import CodeParams
from verosim.densities.em import Convergence, EMParams
from verosim.densities.features import (
    Amounts,
    Deviations,
    Expansion,
    Indicators,
    Presence,
    SideBySide,
    Squares,
    SquaresAndProducts,
    TokenAmounts,
)
from verosim.densities.full_params import FullParams
from verosim.densities.gaussian import DiagonalParams
from verosim.densities.histogram import BinParams, CellParams
from verosim.densities.interactions import Interactions, PairedParams
from verosim.densities.lifted import LiftedScores
from verosim.densities.mixture import MixtureParams
from verosim.densities.one_dependence import OneDependenceParams
from verosim.densities.poisson import PoissonParams
from verosim.densities.product import ProductParams
from verosim.densities.term_ridge import TermScores
from verosim.densities.text import TextParams
from verosim.errors import VerosimError
from verosim.estimators.aode import OneDependenceSpec
from verosim.estimators.bernoulli_nb import BernoulliSpec
from verosim.estimators.categorical_nb import CategoricalSpec
from verosim.estimators.complement_nb import ComplementSpec
from verosim.estimators.discriminant import FullSpec, LDASpec, RDASpec
from verosim.estimators.encoded import EncodedLDASpec, EncodedRDASpec, EncodedSpec
from verosim.estimators.gaussian import DiagonalSpec
from verosim.estimators.histogram import HistogramSpec
from verosim.estimators.joint_histogram import JointHistogramSpec
from verosim.estimators.kdb import RankedSpec
from verosim.estimators.lifted_lda import LiftedSpec
from verosim.estimators.mixture.choice import Amount, Tried
from verosim.estimators.mixture.fitting import MixtureSettings
from verosim.estimators.mixture.settings import FoundMixture, MixtureSpec
from verosim.estimators.multinomial_nb import MultinomialSpec
from verosim.estimators.paired import PairedSpec
from verosim.estimators.table import TableSpec
from verosim.estimators.tan import TreeSpec
from verosim.estimators.text import TextSpec
from verosim.estimators.text_ridge import TextRidgeSpec
from verosim.files.compact import Covariances, compact
from verosim.files.feature_maps import FourierMap, PolynomialMap
from verosim.files.fits import fits
from verosim.files.held_out_scores import HeldOutScores
from verosim.files.shapes import check_shapes
from verosim.linalg import Inverse
from verosim.pool.experts import Expert
from verosim.pool.mixing import Mixing
from verosim.pool.params import PoolParams
from verosim.pool.result import Candidate, Candidates
from verosim.pool.spec import PoolSpec
from verosim.pool.text_spec import TextPoolSpec
from verosim.pool.text_svm import MarginScores, TextSVMSpec
from verosim.pool.weighted_pairs import PairScores, WeightedPairsSpec
from verosim.stats.codec import DATA_ERRORS
from verosim.stats.plain_trees import damaged
from verosim.twins.least_squares import LeastSquaresSpec, OneHotScores
from verosim.twins.perceptron import PerceptronCourse
from verosim.twins.twin import FeatureScores
from verosim.validate.calibration_maps import CalibratedRule, Isotonic, PosteriorMap, Temperature
from verosim.validate.column_weights import ColumnWeights
from verosim.validate.length_map import LengthMap
from verosim.validate.nonconformity import NonconformityScores
from verosim.validate.reliability import Reliability

RECORDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Columns, Lift, Tokenizer, Decision, Rule, LinearForm, LinearScores, Inverse,
        # Scores and densities
        Certain, ColumnParams, ComplementParams, ContextParams, CodeParams, BinParams, CellParams,
        FullParams, EMParams, Covariances, DiagonalParams, PoissonParams, Interactions,
        PairedParams, LiftedScores, MixtureParams, OneDependenceParams, ProductParams, TermScores,
        TextParams, OneHotScores, PoolParams, PairScores, MarginScores, Convergence,
        # Features of twins
        FeatureScores, Deviations, Squares, SquaresAndProducts, Amounts, Presence, Indicators,
        TokenAmounts, SideBySide, PerceptronCourse, PolynomialMap, FourierMap,
        # Settings
        OneDependenceSpec, BernoulliSpec, CategoricalSpec, ComplementSpec, FullSpec, LDASpec,
        RDASpec, EncodedLDASpec, EncodedRDASpec, EncodedSpec, DiagonalSpec, HistogramSpec,
        JointHistogramSpec, RankedSpec, LiftedSpec, MixtureSpec, MultinomialSpec, PairedSpec,
        TableSpec, TreeSpec, TextSpec, TextRidgeSpec, LeastSquaresSpec, TextSVMSpec,
        WeightedPairsSpec, PoolSpec, TextPoolSpec,
        # Values that `fit` finds in rows
        FoundMixture, MixtureSettings, Tried, Amount, Expert, Mixing, Candidate, Candidates,
        # Corrections of wrappers
        Temperature, Isotonic, LengthMap, ColumnWeights, CalibratedRule, NonconformityScores,
        Reliability, HeldOutScores,
    )
}  # fmt: skip
BASES = {
    kind.__name__: kind
    for kind in (ClassScores, Params, Codes, Expansion, PosteriorMap, *CODES_BY_NAME.values())
}


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """The declared type of each field of a record."""
    found = get_type_hints(kind, localns={**BASES, **RECORDS})
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
    if RECORDS.get(kind.__name__) is not kind:
        return None
    one = one.fixed() if kind is Lift else one
    one = replace(one, seconds=math.nan) if kind is Candidate else one  # a file has no times
    return kind.__name__, {name: getattr(one, name) for name in field_names(kind)}


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
        check_shapes(out)
        if isinstance(out, Covariances):
            out = out.complete()
            check_shapes(out)
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
