"""Lessons on linear classifiers: each is a script that prints results and draws a picture."""
