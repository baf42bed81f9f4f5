"""Integer labels to class numbers without sorting the rows."""

from verosim.kernels._compile import exact


@exact
def mark_integers(labels, low, present):
    """present[label − low] = True for every label that occurs."""
    for i in range(labels.size):
        present[labels[i] - low] = True


@exact
def code_integers(labels, low, position, codes):
    """codes[i] = position[label − low]."""
    for i in range(labels.size):
        codes[i] = position[labels[i] - low]


@exact
def first_rows(groups, folds, rows, found):
    """The numbers of the first rows of every class: rows (C, m), found (C,).

    Stops as soon as every class has m of them.
    """
    classes, most = rows.shape
    missing = classes
    for i in range(groups.size):
        c = groups[i] // folds
        if found[c] < most:
            rows[c, found[c]] = i
            found[c] += 1
            if found[c] == most:
                missing -= 1
                if missing == 0:
                    return
