"""One suggestion for a trial of a study: reading trials, learning, choosing, publishing.

The part of `BKTFSampler` that does not depend on how Optuna calls a sampler.
"""

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.exceptions import TrialPruned
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from bktf.engine import (
    AUTO,
    Campaign,
    Engine,
    EngineSettings,
    History,
    Objective,
    describe,
    make_belief,
    with_campaigns,
)
from bktf.optuna_sampler import argument_checks as checks
from bktf.optuna_sampler.duplicate_avoidance import Question, choose_and_publish
from bktf.optuna_sampler.earlier_results import EarlierTable, campaigns_of
from bktf.optuna_sampler.messages import REPEATS, Messages
from bktf.optuna_sampler.published_parameters import (
    publish_parameters,
    read_parameters,
    space_key,
)
from bktf.optuna_sampler.stored_settings import settings_text, store_settings
from bktf.optuna_sampler.study_space import StudySpace
from bktf.optuna_sampler.trials import (
    ConvertedTrials,
    Trials,
    fixed_coordinates,
    kept_values,
    objective_of,
    read_all,
    read_changes,
)
from bktf.spaces import (
    CandidateList,
    Feasibility,
    MixtureSpace,
    Parameter,
    Pool,
    check_enqueued,
    row_of_values,
    row_values,
    sums_to_totals,
    values_at,
)
from bktf.surrogate import Posterior

Feasible = Callable[[dict[str, Any]], bool]
Distributions = dict[str, BaseDistribution]
Parameters = tuple[Parameter, ...]
Allowed = Feasibility | CandidateList | MixtureSpace

CACHES = (
    "_choosing", "_converted", "_first_reading", "_last_posterior", "_feasibility", "_campaigns",
    "_stored",
)  # fmt: skip


class StudySuggestions:
    """Suggestions for the trials of studies, with the settings of one sampler."""

    _settings: EngineSettings
    _seed: int
    _ordinal: frozenset[str]
    _feasible: Feasible | None
    _pool: Pool | None  # the candidates, where a list of them was given
    _earlier: tuple[Study | EarlierTable, ...]
    _expected: dict[str, Any]  # where the optimum is expected, by parameter
    space: StudySpace
    messages: Messages

    def _make_caches(self) -> None:
        """Make the caches, which may be lost at any time, and the lock."""
        self._choosing = threading.Lock()
        self._converted = ConvertedTrials()
        self._first_reading = threading.local()  # of the trial for which the space was inferred
        self._last_posterior: dict[str, Posterior] = {}  # by study, for a warm start
        self._stored: tuple[int, int] | None = None  # the study that has the settings
        self._campaigns: tuple[Objective, tuple[Campaign, ...]] | None = None
        # For the latest parameters and constants, because listing feasible points takes time.
        self._feasibility: tuple[Any, Allowed] | None = None

    def engine(self, parameters: Parameters, objective: Objective, constants: Any) -> Engine:
        """The engine of this sampler for a space; `feasible` is given the constants as well."""
        allowed: Allowed | None = None
        if self._feasible is not None or self._pool is not None or self.space.mixtures:
            key = (parameters, repr(constants))
            cached = self._feasibility  # read once: another thread may ask for another study
            if cached is None or cached[0] != key:
                cached = key, self._allowed(parameters, constants)
                self._feasibility = cached
            allowed = cached[1]
        belief = make_belief(parameters, self._expected)
        return Engine(parameters, objective, self._settings, self._seed, allowed, belief)

    def with_earlier(self, history: History, engine: Engine) -> History:
        """The history with the results of earlier campaigns."""
        if not self._earlier:
            return history
        if self._campaigns is None or self._campaigns[0] != engine.objective:
            self._campaigns = engine.objective, campaigns_of(self._earlier, engine.objective)
        return with_campaigns(history, engine.parameters, self._campaigns[1])

    def _allowed(self, parameters: Parameters, constants: Any) -> Allowed:
        """What may be tried."""
        complete, mixtures = partial(self.space.with_constants, constants), self.space.mixtures
        feasible = self._feasible
        if self._pool is None and mixtures:
            return MixtureSpace(parameters, mixtures, dict(constants), feasible)
        if self._pool is None:
            assert feasible is not None
            return Feasibility.of_values(parameters, feasible, complete)
        listed = self._pool.candidates
        if feasible is None and not mixtures:
            return listed

        def allows(values: dict[str, Any]) -> bool:
            """Whether a candidate may be tried."""
            whole = complete(values)
            return sums_to_totals(mixtures, whole) and (feasible is None or bool(feasible(whole)))

        return listed.restricted(allows)

    def cell_for(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        """The value of a column in the row of candidates that is chosen for a trial."""
        pool = self._pool
        assert pool is not None
        if name not in pool.space.distributions:
            known = ", ".join(map(repr, pool.space.distributions))
            raise ValueError(
                f"{name!r} is suggested, but candidates have only the columns {known}. Add a "
                "column, or leave the parameter out"
            )
        key = (id(study._storage), trial._trial_id)
        if getattr(self._first_reading, "row", (None, None))[0] != key:
            check_enqueued(pool, kept_values(study, trial))
            chosen = self.suggest_for(study, trial, pool.space.distributions)
            self._first_reading.row = (key, row_values(pool, row_of_values(pool, chosen)))
        row = self._first_reading.row[1]
        if name not in row:
            raise ValueError(
                f"{name!r} is suggested, but it is empty in the chosen row of the candidates, {row}"
            )
        value = row[name]
        try:
            is_inside = distribution._contains(distribution.to_internal_repr(value))
        except (ValueError, TypeError):
            is_inside = False
        if not is_inside:
            raise ValueError(
                f"the candidates have {value!r} in column {name!r}, which the objective does not "
                f"suggest: {distribution}. Widen its range"
            )
        return distribution.to_external_repr(distribution.to_internal_repr(value))

    # --- one suggestion ------------------------------------------------------------------------

    def suggest_for(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values for all of these parameters together, those that are active."""
        trials = self._read_trials(study, trial)
        if any(t.constraints for t in trials.values()):
            raise ValueError(checks.NO_CONSTRAINTS)
        kept = kept_values(study, trial)
        space = self.space.of(study, trials)
        # Parameters that a sampler around this one, as PartialFixedSampler, has taken out. The
        # model needs their values, because other trials have them.
        left_out = space.distributions.keys() - search_space.keys()
        if left_out and left_out <= kept.keys():
            whole = space.distributions.items()
            search_space = {name: search_space.get(name, d) for name, d in whole}
        parameters = space.asked_for(search_space, self._ordinal)
        if self._ordinal:
            checks.check_ordinal(parameters)
        if self._ordinal and not self.space.is_given and self.space.is_known(trials):
            self.messages.mention_unseen_ordinal(study.study_name, self._ordinal, trials.values())
        converter = self._converted.of(study, parameters)
        history = converter.history(trials, trial.number, datetime.now())
        engine = self.engine(parameters, converter.objective, space.constants)
        if space.is_open or not space.distributions.keys() <= search_space.keys():
            # The same point with other values of unseen parameters is not a repeat.
            engine = replace(engine, settings=replace(engine.settings, allow_repeats=True))
        fixed = fixed_coordinates(kept, parameters)
        key, name = space_key(parameters), study.study_name
        published = read_parameters(trials, trial.number, key, self.messages, name)
        warm_start = self._last_posterior.get(name) if engine.settings.warm_start else published
        history = self.with_earlier(history, engine)
        model = engine.learn(history, trial.number, fixed, warm_start)
        if engine.settings.warm_start and model.posterior is not None:
            self._last_posterior[name] = model.posterior
        publish_parameters(study, trial, key, model)
        self._store_settings(study)
        self.messages.mention_left_out(name, model)
        if not self.space.is_given:
            self.messages.mention_conditions(name, parameters)
        self._mention_unused(study, trials, parameters)
        question = Question(study, trial, trials, converter, engine, model)
        end_or_repeat = partial(self._end_or_repeat, study, trial)
        chosen = choose_and_publish(question, self._choosing, self.messages, end_or_repeat)
        values = values_at(parameters, chosen.point)
        return {name: value for name, value in values.items() if name not in left_out}

    def _store_settings(self, study: Study) -> None:
        """Keep the settings with the study; once for each study that this sampler serves."""
        key = (id(study._storage), study._study_id)
        if self._stored != key:
            store_settings(study, settings_text(self._settings, self._ordinal))
            self._stored = key

    def _mention_unused(self, study: Study, trials: Trials, parameters: Parameters) -> None:
        """Say once what was stated and has no effect."""
        known = {p.name for p in parameters}
        unknown = [name for name in self._expected if name not in known]
        if unknown and self.space.is_known(trials):
            text = f"expected_optimum names {unknown[0]!r}, which no trial has"
            self.messages.say_once("expected", study.study_name, text)
        is_finite = self._settings.rank not in (AUTO, math.inf)
        if is_finite and any(p.descriptors is not None for p in parameters):
            text = "descriptors of choices are not used at finite rank"
            self.messages.say_once("descriptors", study.study_name, text)

    def _read_trials(self, study: Study, trial: FrozenTrial) -> Trials:
        """All trials; those read to infer the space are only brought up to date."""
        storage, trial_id, trials = getattr(self._first_reading, "of", (None, None, {}))
        self._first_reading.of = (None, None, {})
        if storage is study._storage and trial_id == trial._trial_id:
            return read_changes(study, trials)
        return read_all(study)

    def _end_or_repeat(self, study: Study, trial: FrozenTrial) -> None:
        """Nothing is left: end trial and study; where that cannot be, warn and repeat."""
        if study._thread_local.in_optimize_loop and self.is_exhausted(study):
            study.stop()
            self.messages.mention_stop(study.study_name, trial.number)
            raise TrialPruned("every point of the search space was tried or is being tried")
        self.messages.say_once("repeat", study.study_name, REPEATS)

    def posterior_to_show(self, study: Study, kept: Mapping[str, Any] | None = None) -> Posterior:
        """The surrogate given all trials, with names, direction and what may be suggested.

        kept: values of parameters that all suggestions keep.
        """
        trials = read_all(study)
        space = self.space.of(study, trials)
        parameters = space.asked_for(space.distributions, self._ordinal)
        n_values = sum(t.state == TrialState.COMPLETE for t in trials.values())
        checks.check_analysed(parameters, n_values, n_values)
        converter = self._converted.of(study, parameters)
        history = converter.history(trials, -1, datetime.now())
        checks.check_analysed(parameters, n_values, len(history.y))
        engine = self.engine(parameters, converter.objective, space.constants)
        history = self.with_earlier(history, engine)
        index = {p.name: d for d, p in enumerate(parameters)}
        found = {
            index[n]: parameters[index[n]].coordinate(x)
            for n, x in (kept or {}).items()
            if n in index
        }
        fixed = {d: x for d, x in found.items() if x is not None}
        shown = engine.learn_to_show(history, 0, fixed).posterior
        assert shown is not None
        return describe(shown, engine, fixed)

    # --- the space -----------------------------------------------------------------------------

    def _is_past_start(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether the model is in use by now; it does not see independent parameters."""
        trials = read_all(study)
        n_finished = sum(t.state.is_finished() for t in trials.values())
        n_dims = len(self.space.of(study, trials).distributions)
        return trial.number > 0 and n_finished >= max(2, self._settings.n_startup(n_dims))

    def is_exhausted(self, study: Study) -> bool:
        """Whether every point of a finite space that may be tried was tried or is pending.

        Without `search_space` the space is only what trials have shown, so this needs some trials.
        """
        trials = read_all(study)
        space = self.space.of(study, trials)
        parameters = space.asked_for(space.distributions, self._ordinal)
        was_taken_out = any(p.activations == () for p in parameters)
        if space.is_open or not parameters or was_taken_out:  # then nothing is certain
            return False
        engine = self.engine(parameters, objective_of(study), space.constants)
        if not engine.can_be_exhausted(len(trials)) or not self.space.is_known(trials):
            return False
        converter = self._converted.of(study, parameters)
        tried = converter.tried_points(trials, -1)
        pending = converter.pending_points(trials, -1, datetime.now())
        return engine.is_exhausted(np.concatenate((tried, pending)))
