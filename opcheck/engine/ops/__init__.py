"""One file an operator: its kernels by version, its error bound, its range."""
