"""`suggest_from`: the next rows of a table of candidates, given a table of results."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bktf._checks import MAX_TRIALS, whole_number
from bktf.engine import Direction, Engine, History, Objective, make_settings
from bktf.optuna_sampler import check_seed
from bktf.spaces import UserTable, column_numbers, read_pool, read_table, table_points

RESULTS = "results"


def suggest_from(
    candidates: object,
    results: object,
    *,
    target: str,
    direction: Direction = "minimize",
    n: int = 1,
    space: Mapping[str, Any] | Sequence[Any] | None = None,
    seed: int = 0,
    **settings: Any,
) -> list[Any]:
    """The labels of the n rows of a table of candidates to try next, together.

    A row that has a result is not suggested again. There are fewer labels where fewer rows are
    left. Without enough results the rows fill the space.

    Args:
        candidates: all that may be tried: a pandas data frame, whose index has the labels, or a
            dictionary of columns or a list of dictionaries, whose labels are the numbers of the
            rows, from 0. Numeric columns are axes, others categories.
        results: what was tried, in the same forms: the same columns and the target. An empty target
            is a result that is not there yet. Its rows need not be among the candidates.
        target: the column of the results to optimise.
        direction: "minimize" or "maximize".
        n: how many rows.
        space: describes columns, as in `bktf.minimize`; those that it does not name are left out.
        seed: the same tables and seed give the same rows.
        settings: of `bktf.BKTFSampler`: acquisition, rank, noise_std, n_startup_trials, …
    """
    if direction not in ("minimize", "maximize"):
        raise ValueError(f'direction must be "minimize" or "maximize"; got {direction!r}')
    check_seed(seed)
    n = whole_number("n", n, 1, MAX_TRIALS)
    known = read_table(results, RESULTS)
    numbers = column_numbers(known, target, missing=math.nan) if known.n_rows else []
    values = np.array(numbers, dtype=float)
    seen = UserTable(
        known.name, {k: c for k, c in known.columns.items() if k != target}, known.labels
    )
    pool = read_pool(candidates, space, [seen] if space is None else [])
    listed = pool.candidates
    missing = [name for name in pool.space.distributions if name not in seen.columns]
    if missing and known.n_rows:
        had = ", ".join(map(repr, known.columns))
        raise ValueError(f"{RESULTS} has no column {missing[0]!r}; it has {had}")
    X = np.empty((0, len(listed.parameters)))
    if known.n_rows:
        X = table_points(seen, listed.parameters, pool.space)
    objective = Objective(direction=direction, name=target)
    is_done = np.isfinite(values)
    y = objective.orient(values[is_done])
    history = History(X[is_done], y, X[:0], X[is_done], X[~is_done])
    engine = Engine(listed.parameters, objective, make_settings("default", settings), seed, listed)
    model = engine.learn(history, known.n_rows)
    chosen = engine.choose_batch(model, known.n_rows, n)
    return [listed.labels[listed.row(s.point)] for s in chosen]
