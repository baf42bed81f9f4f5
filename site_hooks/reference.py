"""The pages of the reference, written when the site is built: one entry for each public name.

A public name is listed in one group below. `tests/test_site.py` fails if a name has no group.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

MODULES = (
    "verosim",
    "verosim.validate",
    "verosim.twins",
    "verosim.pool",
    "verosim.insight",
    "verosim.files",
    "verosim.bayes",
    "verosim.theory",
    "verosim.testing",
    "verosim.typing",
)


@dataclass(frozen=True)
class Group:
    """One page of the reference."""

    page: str  # the name of the file
    title: str
    text: str  # what the page is about, and where to read more
    names: tuple[str, ...]  # in the order of the page


def names_in(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names.split())


ESTIMATOR = (
    "All of them follow the conventions of scikit-learn: `get_params`, `set_params`, `clone` and "
    "pipelines work."
)
GROUPS = (
    Group(
        "gaussian",
        "Gaussian models",
        "Each class has a Gaussian density, or a [mixture](../models/mixtures.md) of Gaussians. "
        "The models differ in the covariance. "
        f"[Which one to use](../models/gaussian.md). {ESTIMATOR}",
        names_in("verosim", "LDA QDA RDA MDA GaussianNB NaiveLDA LiftedLDA"),
    ),
    Group(
        "discrete",
        "Discrete models",
        "Models of categories, of true and false, of counts and of binned numbers. "
        "[Which one to use](../models/discrete.md), and [histograms](../models/histograms.md). "
        f"{ESTIMATOR}",
        names_in(
            "verosim",
            "CategoricalNB BernoulliNB MultinomialNB ComplementNB HistogramNB JointHistogram",
        ),
    ),
    Group(
        "dependence",
        "Dependent columns",
        "Models of tables in which a column depends on the class and on other columns. "
        f"[Which one to use](../models/dependence.md). {ESTIMATOR}",
        names_in("verosim", "TAN KDB AODE"),
    ),
    Group(
        "tables_and_text",
        "Tables and text",
        "`NaiveBayes` reads whole [tables](../models/tables.md), `TextNB` reads "
        "[texts](../models/text.md), and `SemiSupervised` also uses "
        f"[rows without a label](../howto/unlabelled_rows.md). {ESTIMATOR}",
        names_in("verosim", "NaiveBayes TextNB TextRidge TextPool SemiSupervised"),
    ),
    Group(
        "linear",
        "Linear models",
        "Discriminative classifiers: they fit the boundary between the classes directly. "
        f"[Which one to use](../models/linear.md). {ESTIMATOR}",
        names_in(
            "verosim",
            "LogisticRegression LinearSVM LeastSquares Perceptron OneVsRest OneVsOne twin Twin "
            "Whiten",
        ),
    ),
    Group(
        "validation",
        "Validation",
        "Scores on held-out rows, without fitting again. How to "
        "[cross-validate](../howto/cross_validate.md), [tune](../howto/tune.md), "
        "[select columns](../howto/select_columns.md) and [diagnose](../howto/diagnose.md).",
        names_in("verosim", "cross_validate search path select diagnose drift"),
    ),
    Group(
        "decisions",
        "Calibration and decisions",
        "Probabilities, sets of classes and a reject option. How to "
        "[calibrate](../howto/calibrate.md), give [prediction sets](../howto/prediction_sets.md), "
        "[reject rows](../howto/reject.md) and [decide by cost](../howto/decide_by_cost.md). "
        "`calibrate`, `conformal` and `reject` fit the class of the same name.",
        names_in("verosim", "calibrate Calibrated reliability conformal Conformal reject Reject")
        + names_in("verosim", "decide"),
    ),
    Group(
        "comparison",
        "Comparison and choice",
        "How to [choose a model](../howto/choose_model.md) and "
        "[compare models](../howto/compare.md), and what a [pool](../models/pool.md) is.",
        names_in("verosim", "auto Pool bic compare generative_gap"),
    ),
    Group(
        "explanations",
        "Explanations",
        "What each column adds to the log-odds of two classes, for single rows. How to "
        "[explain a decision](../howto/explain_a_decision.md).",
        names_in("verosim", "explain what_if counterfactual importance effect scorecard")
        + names_in("verosim.insight", "Explanation WhatIf Counterfactual Importance Effect")
        + names_in("verosim.insight", "Scorecard ColumnPoints"),
    ),
    Group(
        "plots",
        "Plots",
        "Pictures with matplotlib, drawn on your axes. The [gallery](../gallery.md) shows each of "
        "them.",
        names_in(
            "verosim",
            "plot_boundary plot_pairs plot_densities plot_nomogram plot_graph to_dot plot_evidence "
            "plot_evidence_summary plot_effect plot_importance plot_calibration plot_confusion "
            "plot_path plot_candidates plot_projection plot_whitening plot_sample",
        ),
    ),
    Group(
        "data",
        "Data and schema",
        "How to [read data](../howto/read_data.md), [choose columns](../howto/choose_columns.md) "
        "and use threads for [large files](../howto/large_files.md).",
        names_in(
            "verosim", "look Schema read query threads use_threads save load dumps loads info"
        ),
    ),
    Group(
        "results",
        "Results",
        "The objects that functions return. They print as a table.",
        names_in(
            "verosim.validate", "CrossValidation GroupScores Search Selection Step Reliability"
        )
        + names_in("verosim.validate", "Diagnosis Finding Drift")
        + names_in("verosim.pool", "Choice Candidates Candidate ExpertScores")
        + names_in("verosim.files", "ModelInfo HeldOutScores")
        + names_in("verosim.twins", "Comparison Difference Crossing Failure Gap")
        + names_in("verosim.bayes", "Quadratic Conic ConicPiece Ellipse Covariance")
        + names_in("verosim.bayes", "Learned LearnedTable"),
    ),
    Group(
        "theory",
        "Theory",
        "How many rows a model needs, and the parts of Bayes' rule.",
        names_in(
            "verosim.theory",
            "rows_for_priors rows_for_gaussian rows_for_histogram prior_error parameter_counts",
        )
        + names_in(
            "verosim.bayes",
            "log_priors boundary signed_distances Rule Decision LinearScores Program",
        ),
    ),
    Group(
        "errors",
        "Errors and warnings",
        "The classes of errors and warnings. [Error messages](../errors.md) shows each kind of "
        "message.",
        names_in(
            "verosim",
            "VerosimError VerosimWarning SingularWarning PrecisionWarning ConvergenceWarning",
        ),
    ),
    Group(
        "testing",
        "Testing",
        "The laws that statistics, densities and engines obey, for those who write one. Each "
        "function raises an `AssertionError` if the law does not hold.",
        names_in(
            "verosim.testing",
            "associative commutative has_zero invertible scales splits streams aligns repivots "
            "restores passes_through_empty folds_add_up adds_like_one_thread "
            "agrees_with_its_statistic columns_stand_alone adds_up_by_column features_are_linear "
            "leaves_one_out program_equals_scores ratio_is_density reads_only assert_same size_of "
            "statistic_of",
        ),
    ),
    Group(
        "types",
        "Types",
        "Names for the types of arguments that many functions share. Import them from "
        "`verosim.typing` to annotate your own code.",
        names_in(
            "verosim.typing",
            "Source Labels Weights CV RandomState Priors ClassWeight Scoring ColumnKind "
            "FileOptions MissingMarks ArrowStream BatchTable LazyTable Splitter",
        ),
    ),
)
LATER_IN_SEARCH = "---\nsearch:\n  boost: 0.5\n---"  # guides are found before the reference
INDEX = (
    "# Reference\n\n"
    "Every public name, with its parameters and results. Classifiers and functions are names of "
    "`verosim`. The classes of results are in `verosim.validate`, `verosim.twins`, `verosim.pool`, "
    "`verosim.insight`, `verosim.files` and `verosim.bayes`. `verosim.__version__` is the "
    "version.\n"
)
# The methods that most users need come first, then the others in the order of the source.
FIRST = [
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "score", "log_joint", "log_density", "predict_table", "sample", "merge", "forget", "decay",
    "with_priors", "set_params",
]  # fmt: skip
# Methods that the parts of an estimator call on each other; CONTRIBUTING.md is about them.
INTERNAL = {
    "spec", "settings", "set_state", "checked_state", "fitted", "opened_to_score", "evaluate",
    "check_columns", "check_has_rows", "training_rows", "set_weights", "set_columns", "rule_of",
    "rule", "checked_model", "start_from", "fit_like", "answer",
}  # fmt: skip


def public_names() -> set[str]:
    """All public names as `module.name`."""
    found = set()
    for name in MODULES:
        module = import_module(name)
        for one in module.__all__:
            if one != "__version__" and not inspect.ismodule(getattr(module, one)):
                found.add(f"{name}.{one}")
    return found


def value_of(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def methods(found: type) -> list[str]:
    """The public methods of a class that verosim defines, in the order of the page."""
    names = [
        name
        for owner in found.__mro__
        if owner.__module__.startswith("verosim")
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and name not in INTERNAL
        and not (name.startswith("set_") and name.endswith("_request"))  # made by scikit-learn
        and callable(getattr(found, name))
        and not inspect.isclass(value)
    ]
    names = list(dict.fromkeys(names))
    return [n for n in FIRST if n in names] + [n for n in names if n not in FIRST]


def summary(name: str) -> str:
    """The first line of the docstring; empty for a type alias."""
    value = value_of(name)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return ""
    line = (inspect.getdoc(value) or "").partition("\n")[0]
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", line).replace("|", "\\|")


def listing(names: tuple[str, ...]) -> str:
    """A table of names and summaries."""
    rows = [f"| [`{n.rpartition('.')[2]}`][{n}] | {summary(n)} |" for n in names]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def entry(name: str) -> str:
    """The directive of mkdocstrings for one name."""
    value = value_of(name)
    lines = [f"::: {name}"]
    if inspect.isclass(value):
        shown = methods(value)
        lines += ["    options:", f"      members: {shown or 'false'}"]
        if not (hasattr(value, "fit") or name == "verosim.Schema"):
            lines.append("      merge_init_into_class: false")  # users do not make results
    return "\n".join(lines)


def modules_of(group: Group) -> list[str]:
    """The modules of a page's names, each once, in the order of the page."""
    return list(dict.fromkeys(name.rpartition(".")[0] for name in group.names))


def anchors(group: Group) -> str:
    """Invisible anchors for the modules that have their first entry on this page."""
    earlier = {module for one in GROUPS[: GROUPS.index(group)] for module in modules_of(one)}
    return "".join(f"[](){{#{module}}}" for module in modules_of(group) if module not in earlier)


def page_of(group: Group) -> str:
    parts = [LATER_IN_SEARCH, f"# {group.title}", anchors(group), group.text]
    if summary(group.names[0]):
        parts.append(listing(group.names))
    return "\n\n".join([*filter(None, parts), *map(entry, group.names)]) + "\n"


def index() -> str:
    parts = [INDEX]
    for group in GROUPS:
        names = ", ".join(f"[`{n.rpartition('.')[2]}`][{n}]" for n in group.names)
        parts.append(f"**[{group.title}]({group.page}.md)**: {names}")
    return "\n\n".join(parts) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by MkDocs when it has listed the files: add the pages of the reference."""
    pages = {"index": index()} | {group.page: page_of(group) for group in GROUPS}
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files
