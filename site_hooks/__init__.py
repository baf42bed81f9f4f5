"""What `make docs` adds to the pages of docs/: the reference, and formulas without a script."""
