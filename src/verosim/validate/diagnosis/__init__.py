"""What can be wrong with a generative model, one question a file."""
