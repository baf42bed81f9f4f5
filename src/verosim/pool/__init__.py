"""The models a table allows, compared on held-out rows: `auto`."""
