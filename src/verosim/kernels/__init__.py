"""Every compiled loop, one file per purpose; numba loads when the first of them is called.

All are `nogil`, so the engine's threads run them side by side, and cached on disk where a
folder can be written, so a machine compiles each of them once. `fastmath` is limited to
reassociation, and only in loops whose result does not depend on it beyond rounding.
"""

from __future__ import annotations

from verosim.lazy import lazy_names

_FILES = {
    "labels": ("mark_integers", "code_integers", "first_rows"),
    "sums": ("add_block", "add_pairs", "subtract_pairs"),
    "moments": ("absorb_diagonal", "absorb_diagonal_sparse", "centre_groups"),
    "counts": (
        "count_codes",
        "tally_whole_numbers",
        "tally_words",
        "count_sparse",
        "count_dense",
        "find_codes",
        "find_bins",
    ),
    "scores": (
        "score_diagonal",
        "score_diagonal_sparse",
        "centre_rows",
        "shifted_norms",
        "score_codes",
        "score_sparse",
        "normalise",
        "sum_scores",
    ),
    "holes": ("fill_holes", "score_shown"),
    "vocabulary": ("fill_slots", "meet_tokens", "take_tokens", "add_token_rows"),
    "shares": ("log_shares",),
    "stochastic": ("hash_rows", "count_runs", "mix", "stochastic_dense", "stochastic_sparse"),
    "logistic": (
        "logistic_pass",
        "softmax_pass",
        "logistic_pass_sparse",
        "softmax_pass_sparse",
        "curve_rows",
        "curve_classes",
    ),
    "products": (
        "gather_products",
        "gather_columns",
        "loss_rows",
        "line_loss",
        "curve_scores",
        "conjugate_step",
        "conjugate_turn",
        "dual_pass",
    ),
    "text": ("count_texts", "score_texts"),
    "rows": ("row_norms", "row_products", "add_rows_sparse"),
    "dual": ("descend", "rank_columns", "shuffle"),
    "perceptron": (
        "perceptron_epoch",
        "perceptron_classes_epoch",
        "perceptron_classes_epoch_sparse",
    ),
}
__getattr__, __dir__, __all__ = lazy_names(
    __name__, {f"{__name__}.{file}": names for file, names in _FILES.items()}
)
