"""Conversion of integer labels to class numbers without sorting the rows."""

from verosim.kernels._compile import exact


@exact
def mark_integers(labels, low, present):
    """Set present[label − low] = True for every label that occurs."""
    for i in range(labels.size):
        present[labels[i] - low] = True


@exact
def code_integers(labels, low, position, codes):
    """Set codes[i] = position[label_i − low]."""
    for i in range(labels.size):
        codes[i] = position[labels[i] - low]


@exact
def first_rows(groups, folds, weights, share, least, rows, found):
    """Write the numbers of the first m rows of every class to rows (C, m).

    With weights, only rows with at least this share of the largest weight of their class count.
    least (C,) is zero before, and these weights after it. found (C,) counts the rows found. The
    loop stops as soon as every class has m rows.
    """
    classes, most = rows.shape
    for i in range(weights.size):
        c = groups[i] // folds
        if share * weights[i] > least[c]:
            least[c] = share * weights[i]
    missing = classes
    for i in range(groups.size):
        c = groups[i] // folds
        if found[c] < most and (weights.size == 0 or weights[i] >= least[c]):
            rows[c, found[c]] = i
            found[c] += 1
            if found[c] == most:
                missing -= 1
                if missing == 0:
                    return
