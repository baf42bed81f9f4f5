"""The base class of classifiers that read one column of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verosim.data.adapters import is_stream
from verosim.data.files import is_path
from verosim.data.names import feature_names
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier

if TYPE_CHECKING:
    from verosim.typing import Source


class TextClassifier(GenerativeClassifier):
    """A classifier of texts. X is a sequence or a column of strings."""

    def check_columns(self, X: Source) -> None:
        check_several_texts(X)
        if self.state_.schema is not None or is_stream(X):
            return  # the columns of a table are found by name
        names, known = feature_names(X), self.stats_.axes.columns.names
        if names is not None and known is not None and tuple(names) != known:
            raise VerosimError(
                f"The column of texts is {names[0]!r} here, but it was {known[0]!r} at fit.",
                "Give the same column, or its values without a name.",
            )

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())


def check_several_texts(X: Source) -> None:
    """Raise an error if X is one text."""
    if isinstance(X, str) and not is_path(X):
        raise VerosimError(
            f"X must be a list of texts or a table; got one text, {X[:40]!r}.",
            "Put the text in a list: [text].",
        )


def tags_of_texts(tags: Any) -> Any:
    """The tags of a classifier that reads texts, for scikit-learn."""
    tags.input_tags.categorical = False
    tags.input_tags.two_d_array = False
    return tags
