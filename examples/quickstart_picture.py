"""Plot the first figure of the README: what bktf finds on the controller, and its posterior.

Run: python examples/quickstart_picture.py (the runs are kept, a line each, in
docs/figures/quickstart.jsonl; delete it to run anew)
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import optuna
from optuna.distributions import FloatDistribution

import bktf
from minimize_quickstart import error
from optuna_quickstart import objective

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
LINES = FOLDER / "quickstart.jsonl"
N_SEEDS, N_TRIALS = 10, 40
SAMPLERS = {
    "bktf": bktf.BKTFSampler,
    "Optuna's TPE": optuna.samplers.TPESampler,
    "random": optuna.samplers.RandomSampler,
}
COLOURS = {"bktf": "#c0392b", "Optuna's TPE": "#2c7fb8", "random": "#888888"}


def recorded() -> dict[tuple[str, int], list[float]]:
    """Values of every run, in the order of their trials.

    Runs that are missing are made and recorded.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    runs = {(line["sampler"], line["seed"]): line["values"] for line in lines}
    for name, sampler in SAMPLERS.items():
        for seed in range(N_SEEDS):
            if (name, seed) not in runs:
                study = optuna.create_study(sampler=sampler(seed=seed))
                study.optimize(objective, n_trials=N_TRIALS)
                runs[name, seed] = [trial.value for trial in study.trials]
                with LINES.open("a") as file:
                    file.write(
                        json.dumps({"sampler": name, "seed": seed, "values": runs[name, seed]})
                        + "\n"
                    )
    return runs


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    runs = recorded()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), constrained_layout=True)
    for name in SAMPLERS:
        best = np.minimum.accumulate([runs[name, seed] for seed in range(N_SEEDS)], axis=1)
        low, middle, high = np.quantile(best, [0.25, 0.5, 0.75], axis=0)
        trials = np.arange(1, N_TRIALS + 1)
        left.fill_between(trials, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
        left.plot(trials, middle, color=COLOURS[name], label=name)
    left.set(
        yscale="log",
        xlabel="simulations",
        ylabel="best error so far",
        title=f"median and quartiles of {N_SEEDS} seeds",
    )
    left.legend(frameon=False)

    space = {
        "gain": FloatDistribution(0.1, 20.0, log=True),
        "integral": FloatDistribution(0.01, 10.0, log=True),
        "derivative": (0.0, 5.0),
    }
    result = bktf.minimize(error, space, n_trials=N_TRIALS, seed=0)
    gains = np.geomspace(0.5, 20.0, 120)
    along = np.array([[g, result.x["integral"], result.x["derivative"]] for g in gains])
    low, middle, high = result.posterior.quantile(along, [0.05, 0.5, 0.95])
    truth = [error({"gain": g, "integral": i, "derivative": d}) for g, i, d in along]
    right.fill_between(
        gains, low, high, color=COLOURS["bktf"], alpha=0.2, linewidth=0, label="90 % interval"
    )
    right.plot(gains, middle, color=COLOURS["bktf"], label="posterior median")
    right.plot(gains, truth, color="black", linewidth=1, linestyle="--", label="truth")
    right.plot([result.x["gain"]], [result.fun], "o", color="black", label="best simulation")
    right.set(
        xscale="log",
        xlabel="gain, the others at the best point",
        ylabel="error",
        title=f"what it believes after {N_TRIALS} simulations",
    )
    right.legend(frameon=False)
    figure.savefig(FOLDER / "quickstart.png", dpi=130)
    print(f"{FOLDER / 'quickstart.png'}: medians after {N_TRIALS} simulations", end="")
    print(
        "".join(
            f", {name} {np.median([min(runs[name, s]) for s in range(N_SEEDS)]):.3f}"
            for name in SAMPLERS
        )
    )


if __name__ == "__main__":
    main()
