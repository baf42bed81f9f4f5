"""Results as pandas data frames, if pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from verosim.data.libraries import pd
from verosim.errors import VerosimError

if TYPE_CHECKING:
    PandasFrame: TypeAlias = pd.DataFrame


def pandas_frame(columns: Mapping[str, Any]) -> PandasFrame:
    """The columns of a result as a DataFrame."""
    try:
        return pd.DataFrame(columns)
    except ImportError as error:
        raise VerosimError(
            "to_pandas() needs pandas, which is not installed.",
            "Install pandas, or use to_dict().",
        ) from error
