"""bktf against other packages: python -m studies.comparison."""
