"""Training runs, what they read, and the steps from a run to a model folder."""
