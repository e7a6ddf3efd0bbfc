"""`suggest_from`: the next rows of a table of candidates, given a table of results."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bktf._checks import MAX_TRIALS, whole_number
from bktf._typing import Floats
from bktf.engine import Direction, History, Objective
from bktf.optimize.argument_checks import check_keywords
from bktf.optuna_sampler import BKTFSampler
from bktf.spaces import (
    CANDIDATES,
    Pool,
    UserTable,
    check_numbers,
    column_numbers,
    read_pool,
    read_table,
    table_points,
)

RESULTS = "results"
SAME = 1e-6  # of the range of a column: values that are nearer are one, as after float32


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
            rows, from 0. Numeric columns are axes, others categories. A column of the target is
            left out.
        results: what was tried, in the same forms: the same columns and the target. An empty target
            is a result that is not there yet. Its rows need not be among the candidates.
        target: the column of the results to optimise.
        direction: "minimize" or "maximize".
        n: how many rows.
        space: describes columns, as in `bktf.minimize`; those that it does not name are left out.
        seed: the same tables and seed give the same rows.
        settings: of `bktf.BKTFSampler`: acquisition, rank, noise_std, feasible, earlier,
            expected_optimum, …
    """
    if direction not in ("minimize", "maximize"):
        raise ValueError(f'direction must be "minimize" or "maximize"; got {direction!r}')
    n = whole_number("n", n, 1, MAX_TRIALS)
    check_keywords("suggest_from", settings, suggest_from, BKTFSampler)
    known = read_table(results, RESULTS, has_labels=False)
    numbers = column_numbers(known, target, missing=math.nan) if known.n_rows else []
    pool = _read_pool(candidates, known, target, space)
    sampler = BKTFSampler(seed=seed, candidates=pool, **settings)
    listed = pool.candidates
    X = _points_of_results(known, pool)
    objective = Objective(direction=direction, name=target)
    values = np.array(numbers, dtype=float)
    is_done = np.isfinite(values)
    y = objective.orient(values[is_done])
    history = History(X[is_done], y, X[:0], X[is_done], X[~is_done])
    constants = {
        name: cells[0]
        for name, cells in pool.table.columns.items()
        if name in pool.space.distributions and pool.space.distributions[name].single()
    }
    engine = sampler.engine(listed.parameters, objective, constants)
    history = sampler.with_earlier(history, engine)
    model = engine.learn(history, known.n_rows)
    chosen = engine.choose_batch(model, known.n_rows, n)
    return [listed.labels[listed.row(s.point)] for s in chosen]


def _read_pool(
    candidates: object,
    known: UserTable,
    target: str,
    space: Mapping[str, Any] | Sequence[Any] | None,
) -> Pool:
    """The candidates; their columns cover the values of the results, too."""
    table = read_table(candidates, CANDIDATES)
    table = table._replace(columns={k: c for k, c in table.columns.items() if k != target})
    seen = known._replace(columns={k: c for k, c in known.columns.items() if k != target})
    if space is None and known.n_rows:
        for name in table.columns:
            if name in seen.columns:
                check_numbers(table, seen, name)
    return read_pool(table, space, [seen] if space is None else [])


def _points_of_results(known: UserTable, pool: Pool) -> Floats:
    """The coordinates (m, D) of the results; those of candidates are theirs exactly."""
    parameters, listed = pool.candidates.parameters, pool.candidates.points
    if not known.n_rows:
        return np.empty((0, len(parameters)))
    missing = [name for name in pool.space.distributions if name not in known.columns]
    if missing:
        had = ", ".join(map(repr, known.columns))
        raise ValueError(f"{RESULTS} has no column {missing[0]!r}; it has {had}")
    X = table_points(known, parameters, pool.space)
    for d, p in enumerate(parameters):
        if p.is_unordered:
            continue
        values = np.unique(listed[np.isfinite(listed[:, d]), d])
        near = values[np.abs(values - X[:, d, None]).argmin(axis=1)]
        is_same = np.abs(near - X[:, d]) <= SAME * (float(np.ptp(values)) or 1.0)
        X[:, d] = np.where(is_same, near, X[:, d])
    return X
