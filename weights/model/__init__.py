"""The model family in PyTorch, its configuration, vocabularies and folder, and the searches that the server is held
to."""
