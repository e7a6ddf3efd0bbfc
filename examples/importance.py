"""Which parameters matter, and which interact? Asked of a study that Optuna's TPE has made.

python examples/importance.py
"""

import optuna

import bktf
from bktf.test_functions import tracking_error  # a simulated plant; put your function here


def objective(trial: optuna.Trial) -> float:
    """The error of a PID controller; the colour of its box does not matter."""
    gain = trial.suggest_float("gain", 0.1, 20.0, log=True)
    integral = trial.suggest_float("integral", 0.01, 10.0, log=True)
    derivative = trial.suggest_float("derivative", 0.0, 5.0)
    trial.suggest_categorical("colour", ["grey", "blue"])
    return tracking_error(gain, integral, derivative)


def main() -> None:
    """Sixty trials, then what they say."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=60)

    found = bktf.importance(study)
    print(found)
    gain = found.total["gain"]
    span = f"{gain.low:.0%} to {gain.high:.0%}"
    print(f"\nwithout the gain {gain.mean:.0%} of the variation is lost ({span})")
    print(f"the colour explains {found.total['colour'].mean:.1%}")

    average = bktf.marginal_of(study, "gain")
    best = min(zip(average.mean, average.values[0], strict=True))
    print(f"on average over the others, a gain of {best[1]:.2g} is best")

    evaluator = bktf.BKTFImportanceEvaluator()
    shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
    print("as Optuna shows it:", {name: round(share, 2) for name, share in shares.items()})


if __name__ == "__main__":
    main()
