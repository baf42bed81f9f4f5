"""Five warnings about linear classifiers, each as a script with one picture."""
