"""What every course on linear classifiers warns of, each as a script with one picture."""
