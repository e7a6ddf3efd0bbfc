"""What users give as `earlier`: studies, and tables of results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import TrialState

from bktf.engine import Campaign, Objective, make_campaign
from bktf.optuna_sampler.trials import objective_of
from bktf.spaces import UserTable, column_distributions, column_numbers, read_table

WANTED = "earlier must be a list of Optuna studies and of bktf.earlier(table, target=…)"


@dataclass(frozen=True, eq=False)
class EarlierTable:
    """A table of earlier results. See `bktf.earlier`."""

    table: UserTable
    target: str
    values: tuple[float, ...]


def earlier(table: object, target: str) -> EarlierTable:
    """Results of an earlier campaign, for `earlier=[…]` of `minimize` and `BKTFSampler`.

    Args:
        table: a pandas data frame, a dictionary of columns or a list of dictionaries: parameters,
            some of which may be missing or further ones, and the target.
        target: the column with the results, of the same direction as the new study's.
    """
    read = read_table(table, "the earlier table")
    values = column_numbers(read, target)
    columns = {name: cells for name, cells in read.columns.items() if name != target}
    if not read.n_rows or not columns:
        raise ValueError("the earlier table must have rows, and a column beside the target")
    return EarlierTable(read._replace(columns=columns), target, tuple(values))


def check_earlier(given: object) -> tuple[Study | EarlierTable, ...]:
    """What was given as `earlier`, checked."""
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ValueError(f"{WANTED}; got {given!r}")
    for one in given:
        if not isinstance(one, Study | EarlierTable):
            raise ValueError(f"{WANTED}; got {one!r} in it")
    return tuple(given)


def campaigns_of(
    given: Sequence[Study | EarlierTable], objective: Objective
) -> tuple[Campaign, ...]:
    """The earlier results as campaigns with the direction of a study."""
    return tuple(_campaign(i, one, objective) for i, one in enumerate(given, start=1))


def _campaign(number: int, one: Study | EarlierTable, objective: Objective) -> Campaign:
    """One campaign."""
    if isinstance(one, EarlierTable):
        distributions: dict[str, BaseDistribution] = dict(column_distributions([one.table]))
        rows: list[dict[str, Any]] = one.table.rows(list(one.table.columns))
        name = f"the earlier table {number}" if number > 1 else "the earlier table"
        return make_campaign(name, rows, np.array(one.values), distributions, objective)
    name = f"the earlier study {one.study_name!r}"
    if len(one.directions) > 1:
        raise ValueError(f"{name} has several objectives; give one with a single objective")
    if objective_of(one).direction != objective.direction:
        raise ValueError(
            f"{name} is there to {objective_of(one).direction}, this one to "
            f"{objective.direction}. Give its results as a table, with the sign changed"
        )
    trials = [
        t
        for t in one.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if t.value is not None and np.isfinite(t.value)
    ]
    if not trials:
        raise ValueError(f"{name} has no completed trial with a finite value; leave it out")
    distributions = {}
    for t in trials:
        for key, d in t.distributions.items():
            known = distributions.get(key)
            distributions[key] = d if known is None else _wider(known, d)
    values = np.array([t.value for t in trials])
    return make_campaign(name, [dict(t.params) for t in trials], values, distributions, objective)


def _wider(one: BaseDistribution, other: BaseDistribution) -> BaseDistribution:
    """A range that holds two ranges of one kind; otherwise the latter."""
    are_numbers = isinstance(one, FloatDistribution) and isinstance(other, FloatDistribution)
    if not are_numbers or one.step != other.step or one.log != other.log:  # type: ignore[attr-defined]
        return other
    low, high = min(one.low, other.low), max(one.high, other.high)  # type: ignore[attr-defined]
    return other if other.step is not None else FloatDistribution(low, high, other.log)  # type: ignore[attr-defined]
