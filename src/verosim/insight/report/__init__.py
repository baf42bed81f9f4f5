"""Pages that a browser opens without a network: the report of a model, and its nomogram.

A page is one file: a template, one style, one script, and the numbers in one block of JSON. The
script evaluates the program of the model, and draws all charts from the numbers.
"""
