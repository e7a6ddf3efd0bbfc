"""The lab loop: a space file and a table of results in, the next experiments out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bktf._typing import Floats
from bktf.analysis import Convergence, Optimum
from bktf.engine import (
    Engine,
    History,
    Model,
    NothingFeasible,
    Objective,
    Suggestion,
    describe,
    improvement_baseline,
    make_belief,
    make_settings,
    with_campaigns,
)
from bktf.lab.candidate_pool import Candidate, CandidatePool, read_candidates
from bktf.lab.further_knowledge import read_campaign
from bktf.lab.lab_space import LabError, LabSpace, point_of
from bktf.lab.results_table import Row, Table, read_table, settable
from bktf.lab.slices import is_continuous
from bktf.lab.space_file import read_lab_space
from bktf.lab.stop_entry import look_whether_done
from bktf.spaces import (
    CandidateList,
    Feasibility,
    LinearConstraint,
    MixtureSpace,
    Parameter,
    values_at,
)
from bktf.surrogate import Posterior

START = "start design"
EXPLORES = "explores"
EXPLOITS = "exploits"
FEW_COMPARED = "only experiments near to earlier ones were compared; better ones may be missed"
NEAR_SHARE = 0.25  # of the way from the best result to the median: an expected value there exploits


@dataclass(frozen=True)
class Experiment:
    """A suggested experiment and what the posterior that is shown expects of it."""

    params: dict[str, Any]
    predicted: float | None
    uncertainty: float | None  # standard deviation of the prediction
    expected_improvement: float | None  # on the best so far, beyond pending rows and those before
    reason: str  # START, EXPLORES or EXPLOITS
    candidate: Candidate | None = None  # the row of the pool, where there is one


@dataclass(frozen=True)
class Answer:
    """The suggestions, and what they are based on."""

    space: LabSpace
    table: Table
    experiments: tuple[Experiment, ...]
    best: Row | None
    posterior: Posterior | None  # in the user's units and direction; None during the start
    notes: tuple[str, ...] = ()  # limitations of the suggestions
    optimum: Optimum | None = None  # what is known of it, where there are results enough
    convergence: Convergence | None = None  # whether to stop, where the space file says when


def answer(
    space_file: Path, table_file: Path, q: int, seed: int, pool_file: Path | None = None
) -> Answer:
    """The next q experiments; fewer where the space, or the pool of candidates, has no more."""
    space = read_lab_space(space_file)
    pool = None if pool_file is None else read_candidates(pool_file, space)
    try:
        return _answer(space, table_file, q, seed, pool)
    except NothingFeasible:
        raise LabError(
            f"{space_file.name}: no experiment was found for which the constraints hold; they "
            "leave too little of the space. A sum of continuous parameters cannot be met by "
            "chance: give each a step, or leave one of them out and set it to what remains"
        ) from None


def _answer(
    space: LabSpace, table_file: Path, q: int, seed: int, pool: CandidatePool | None
) -> Answer:
    """`answer` with the space read."""
    table = read_table(table_file, space)
    campaigns = [read_campaign(path, space) for path in space.earlier]
    engine = make_engine(space, seed, pool)
    history = history_of(table, space.parameters, space.objective)
    history = with_campaigns(history, space.parameters, campaigns)
    done = [row for row in table.rows if row.result is not None]
    best = done[int(history.y.argmax())] if done else None
    number = len(table.rows)
    model = engine.learn(history, number)
    chosen = engine.choose_batch(model, number, q)
    if model.posterior is None:
        started = tuple(
            Experiment(params, None, None, None, START, candidate)
            for params, candidate in _settings(space, engine, pool, chosen)
        )
        return Answer(space, table, started, best, None)
    shown = engine.learn_to_show(history, number).posterior
    assert shown is not None
    settings = _settings(space, engine, pool, chosen)
    experiments = _described(engine, space, shown, settings, history.pending)
    posterior = describe(shown, engine)
    notes = _notes(model, len(history.y), chosen)
    judged = look_whether_done(posterior, space.stop)
    return Answer(space, table, experiments, best, posterior, notes, *judged)


def make_engine(space: LabSpace, seed: int, pool: CandidatePool | None = None) -> Engine:
    """The engine with what the space file says; with a pool, its rows are all that may be tried."""
    parameters = space.parameters
    given = {
        "noise_std": space.noise,
        "allow_repeats": space.repeats,
        "rank": space.rank,
        "optimism": space.optimism,
    }
    settings = make_settings("default", given)
    feasible: Feasibility | CandidateList | MixtureSpace | None = None
    is_restricted = bool(space.constraints or space.space.mixtures)
    if pool is not None:
        complete = space.space.with_constants
        feasible = pool.listed
        if is_restricted:
            feasible = pool.listed.restricted(lambda values: space.holds(complete(values)))
    elif space.space.mixtures:
        feasible = MixtureSpace.of(space.space, space.holds, linear_constraints(space))
    elif space.constraints:
        linear, complete = linear_constraints(space), space.space.with_constants
        feasible = Feasibility.of_values(parameters, space.holds, complete, linear)
    belief = make_belief(parameters, space.expected)
    return Engine(parameters, space.objective, settings, seed, feasible, belief)


def _notes(model: Model, n_results: int, chosen: list[Suggestion]) -> tuple[str, ...]:
    """What the model left out, and whether the search was poor."""
    notes = []
    if model.n_outliers:
        some = f"{model.n_outliers} of {n_results} results"
        notes.append(f"{some} are so much worse than all others that they count as failed")
    if model.n_unseen:
        n_seen = n_results - model.n_outliers - model.n_unseen
        kept = "the best, the latest and others spread over the space"
        notes.append(f"the model sees {n_seen} of {n_results} results: {kept}")
    if any(s.is_poor for s in chosen):
        notes.append(f"the constraints allow so little that {FEW_COMPARED}")
    return tuple(notes)


def linear_constraints(space: LabSpace) -> tuple[LinearConstraint, ...]:
    """The constraints as sums over coordinates.

    Those on a category of numbers are left out: its coordinates are indices.
    """
    axes = {p.name: d for d, p in enumerate(space.parameters)}
    numeric = {p.name for p in space.parameters if p.has_numeric_coordinates}
    constants = {name: float(x) for name, x in space.constants.items() if not isinstance(x, str)}
    made = []
    for constraint in space.constraints:
        factors = constraint.factors
        constant = sum(f * constants[name] for name, f in factors.items() if name in constants)
        free = {name: f for name, f in factors.items() if name not in space.constants}
        if free.keys() <= numeric:
            by_axis = {axes[name]: f for name, f in free.items()}
            low, high = constraint.low - constant, constraint.high - constant
            made.append(LinearConstraint(by_axis, low, high))
    return tuple(made)


def history_of(
    table: Table,
    parameters: tuple[Parameter, ...],
    objective: Objective,
) -> History:
    """The rows as points and oriented values."""

    def points(rows: list[Row]) -> Floats:
        """Coordinates (n, D) of rows."""
        coordinates = [point_of(parameters, row.params) for row in rows]
        return np.array(coordinates, dtype=float).reshape(-1, len(parameters))

    with_result = [row for row in table.rows if row.result is not None]
    results = np.array([row.result for row in with_result], dtype=float)
    return History(
        X=points(with_result),
        y=objective.orient(results),
        failed=points([row for row in table.rows if row.failed]),
        tried=points([row for row in table.rows if not row.is_pending]),
        pending=points([row for row in table.rows if row.is_pending]),
    )


def _settings(
    space: LabSpace, engine: Engine, pool: CandidatePool | None, chosen: list[Suggestion]
) -> list[tuple[dict[str, Any], Candidate | None]]:
    """What to set in each suggested experiment, and its row of the pool."""
    if pool is not None:
        rows = [pool.row(suggestion.point) for suggestion in chosen]
        return [(dict(candidate.params), candidate) for candidate in rows]
    values = [values_at(engine.parameters, suggestion.point) for suggestion in chosen]
    return [(_rounded(space, params), None) for params in values]


def _rounded(space: LabSpace, params: dict[str, Any]) -> dict[str, Any]:
    """All active parameters, rounded to what can be set where ranges and constraints allow it."""
    exact = space.space.with_constants(params)
    short = dict(exact)
    distributions = {name: space.distributions[name] for name in exact}
    for name, distribution in distributions.items():
        if is_continuous(space, name):
            short[name] = settable(exact[name], distribution)
    for m in space.space.mixtures:  # the largest amount takes up what rounding has changed
        largest = max(m.names, key=lambda name: short[name])
        rest = sum(short[name] for name in m.names if name != largest)
        if m.step is None:
            short[largest] = settable(m.total - rest, distributions[largest])
    fits = all(d._contains(d.to_internal_repr(short[name])) for name, d in distributions.items())
    return short if fits and space.holds(short) else exact


def _described(
    engine: Engine,
    space: LabSpace,
    posterior: Posterior,
    settings: list[tuple[dict[str, Any], Candidate | None]],
    pending: Floats,
) -> tuple[Experiment, ...]:
    """Suggestions with what the shown, oriented posterior expects at the rounded values.

    A suggestion exploits where the expected value is within NEAR_SHARE of the way from the best
    value to the median; elsewhere it explores. Its expected improvement counts only what it adds
    to pending rows and to the suggestions before it.
    """
    parameters = engine.parameters
    rows = [point_of(parameters, params) for params, _ in settings]
    points = np.array(rows, dtype=float).reshape(-1, len(parameters))
    mean, std = posterior.mean(points), posterior.std(points)
    predicted = space.objective.to_user(mean)
    best = posterior.y.max()
    threshold = best - NEAR_SHARE * (best - np.median(posterior.y))
    baseline = improvement_baseline(posterior, engine.settings)
    experiments = []
    for i, (params, candidate) in enumerate(settings):
        before = np.concatenate((pending, points[:i]))
        gain = float(posterior.expected_improvement(points[i : i + 1], baseline, before)[0])
        reason = EXPLOITS if mean[i] >= threshold else EXPLORES
        expected = float(predicted[i]), float(std[i]), gain
        experiments.append(Experiment(params, *expected, reason, candidate))
    return tuple(experiments)
