"""Scripts that show verosim: `demo.py`, a picture of densities, and the lessons."""
