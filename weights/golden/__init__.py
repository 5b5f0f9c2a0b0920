"""Golden values: the numbers of PyTorch that the C tests compare with."""
