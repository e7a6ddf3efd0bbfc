"""The paper's experiments, and bktf against other packages; not in the wheel."""
