"""Conditional search spaces: bktf against Optuna's samplers on define-by-run objectives."""
