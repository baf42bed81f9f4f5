"""From what the user has to batches the statistics can absorb; input is validated here, once."""

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
