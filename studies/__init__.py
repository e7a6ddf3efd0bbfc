"""The studies of this repository: the paper's experiments, and bktf against other packages. Not a part of the wheel."""
