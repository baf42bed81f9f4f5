"""What can be run to see verosim at work: `demo.py`, and the lessons."""
