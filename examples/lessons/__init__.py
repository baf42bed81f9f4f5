"""The lessons: one script, one picture and one page each. `python -m examples.lessons` lists them.

A lesson is a module with four names:

    SIZE      the width and height of the picture, in inches
    learn()   computes the numbers of the lesson; the result prints itself as a small table
    draw(found, figure)   draws the result of learn()
    SPANISH   the texts of the picture in Spanish, by their English form
"""

NAMES = (
    "gaussian_densities", "boundaries", "projection", "signed_distance", "whitening", "patches",
    "covariance_estimates", "qda_lda", "outliers", "far_points",
    "curse_of_dimension", "discretisation", "zero_frequency", "bernoulli_multinomial",
    "law_of_large_numbers",
    "five_classifiers", "ambiguous_regions", "perceptron", "separable", "lda_logistic",
    "link_function", "few_rows",
    "credit", "text",
)  # fmt: skip
