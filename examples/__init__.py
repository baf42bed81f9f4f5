"""Scripts that show verosim in use: `demo.py` and the lessons."""
