"""The engine behind Optuna's sampler contract."""
