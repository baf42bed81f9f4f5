"""The two ways a loop is compiled: to the letter, or free to reorder its sums."""

from numba import njit

exact = njit(nogil=True, cache=True, error_model="numpy")
loose = njit(
    nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"}
)
