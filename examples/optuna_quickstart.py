"""Optuna as usual, with one sampler swapped: tune a PID controller in 40 simulations.

Run: python examples/optuna_quickstart.py
"""

import optuna

import bktf
from bktf.test_functions import tracking_error


def objective(trial: optuna.Trial) -> float:
    gain = trial.suggest_float("gain", 0.1, 20.0, log=True)
    integral = trial.suggest_float("integral", 0.01, 10.0, log=True)
    derivative = trial.suggest_float("derivative", 0.0, 5.0)
    return tracking_error(gain, integral, derivative)


def main() -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=0))
    study.optimize(objective, n_trials=40)
    print(f"error {study.best_value:.4f} with {study.best_params}")
    return study


if __name__ == "__main__":
    main()
