"""Converts the user's data to batches that statistics can absorb. Input is validated only here."""

from verosim.data.arrays import SparseRows, as_matrix
from verosim.data.batch import Batch
from verosim.data.labels import encode_labels
from verosim.data.sources import ArraySource, Parts
from verosim.data.text import Documents
from verosim.data.tokens import Tokenizer
from verosim.data.weights import as_weights

__all__ = [
    "ArraySource",
    "Batch",
    "Documents",
    "Parts",
    "SparseRows",
    "Tokenizer",
    "as_matrix",
    "as_weights",
    "encode_labels",
]
