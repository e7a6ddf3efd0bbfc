"""Four processes share one study through a database; none waits or repeats another's point.

Run: python examples/parallel_workers.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import optuna

import bktf

N_WORKERS, N_TRIALS, SECONDS = 4, 10, 0.2


def objective(trial: optuna.Trial) -> float:
    """A slow experiment on a 10 × 10 grid."""
    x, y = trial.suggest_int("x", 0, 9), trial.suggest_int("y", 0, 9)
    time.sleep(SECONDS)
    return float((x - 3) ** 2 + (y - 6) ** 2)


def work(storage: str) -> None:
    """What each worker does, here or on another machine; one seed for all is fine."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name="shared", storage=storage, sampler=bktf.BKTFSampler(seed=0)
    )
    study.optimize(objective, n_trials=N_TRIALS)


def main() -> optuna.Study:
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'study.db'}"
        study = optuna.create_study(study_name="shared", storage=storage)
        began = time.perf_counter()
        workers = [subprocess.Popen([sys.executable, __file__, storage]) for _ in range(N_WORKERS)]
        if any(worker.wait() for worker in workers):
            raise SystemExit("a worker failed")
        seconds = time.perf_counter() - began
        points = [tuple(trial.params.values()) for trial in study.trials]
        n_repeats = len(points) - len(set(points))
        trials = f"{len(points)} trials by {N_WORKERS} processes in {seconds:.0f} s"
        print(f"{trials}, {n_repeats} repeats")
        print(f"best {study.best_value:g} at {study.best_params}")
        return study


if __name__ == "__main__":
    work(sys.argv[1]) if len(sys.argv) > 1 else main()
