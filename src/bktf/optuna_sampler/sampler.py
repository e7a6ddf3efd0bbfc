"""`BKTFSampler`: the model behind Optuna's sampler contract.

The sampler keeps no state that a suggestion depends on: a suggestion is a function of the seed, the trial's number and the trials in the
storage. So workers with one seed do not repeat each other, a study reopened from storage goes on where it was, and one sampler may serve
several studies. (The preset "paper" alone keeps the last posterior as a warm start; it may be lost at any time.)
"""

import logging
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.exceptions import TrialPruned
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bktf.engine.history import History
from bktf.engine.model_choice import MAX_PROCESS
from bktf.engine.settings import Feasible, NothingFeasible, Suggestion, make_strategy, seed_for
from bktf.engine.start_design import ENUMERATE_POINTS, any_left, start_point
from bktf.engine.suggestion import fit_history, next_point
from bktf.optuna_sampler.trials import FINISHED, INTERRUPTED, KnownSpace, known_space, pieces_of, read_history
from bktf.spaces.feasible_points import Feasibility
from bktf.spaces.parameters import Parameter, can_be_modelled, n_points, only_value, parameters_of, values_at
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.priors import Priors

Floats = NDArray[np.float64]

MAX_AGREEMENTS = 5  # times a worker chooses, because another one published the same point first
MAX_WAIT = 0.05  # seconds it waits at most before it chooses again, the first time
BELIEVED_AFTER = 10  # finished trials after which a define-by-run space is taken to have shown all its parameters

POOR_SEARCH = (
    "`feasible` allows so little of the space that only points near to tried ones were compared; better ones may be missed. Leave out a "
    "parameter that the others determine, or make one categorical parameter of the candidates"
)

_logger = logging.getLogger("bktf")


class BKTFSampler(BaseSampler):
    """An Optuna sampler that models the objective with Bayesian kernelized tensor factorization.

    Swap it in for any other sampler of a single-objective study::

        study = optuna.create_study(sampler=bktf.BKTFSampler(seed=0))

    Parameters that every trial has are chosen together; conditional ones are left to `independent_sampler`. Failed trials (an exception
    that is caught, or NaN) make their neighbourhood less attractive; they are not retried and not given a value. A trial that Ctrl-C ended
    says nothing of its point. Pruned trials count through what completed ones show of their reports. On a finite space no point is
    suggested twice, and the study stops when nothing is left. Trials that begin before any has finished may repeat each other, where the
    space is not known yet; `search_space` closes that.

    Args:
        seed: makes suggestions reproducible; with the same trials in the storage they are the same in another process.
        n_startup_trials: trials that were evaluated, one of them with a value, before the model is used; by default D + 4 (with the
            preset "paper" D), where D counts the parameters that are chosen together; at most 10 million. Start points are those of a
            scrambled Sobol sequence.
        acquisition: "ei" (expected improvement), "ucb", "max" (over draws, what the paper's experiments use) or "thompson".
        beta: weight of the standard deviation in "ucb".
        model: the shape of the surrogate. "process": a fully Bayesian Gaussian process. "components": products of factors, the paper's
            model. "both": the two in one sampler. "auto", the default: a process where a parameter is continuous or most parameters are
            unordered categories; on other finite spaces the two take turns, one each up to 20 points, then components five times of
            six (on spaces of more than 100,000 points a process alone from 100 points on). With "max" and "thompson" it is components.
            Beyond 200 trials a process sees a subset: the best, the latest, the neighbours of the best, others spread over the space.
        rank: components of the surrogate; by default 3, at most 10,000.
        n_sweeps: sweeps of each chain of components; by default 400, at most 10 million.
        n_burn_in: how many of them to drop; by default 85 %.
        n_chains: chains of components; by default 4, at most 10,000.
        adapt_rank: shrink the weights of components, more from one to the next, so that `rank` is only the most there can be.
        offsets: factors of components vary around offsets that are learned instead of around 0.
        main_effects: one more component for each parameter alone.
        priors: a `bktf.Priors`.
        noise_std: standard deviation of the objective's noise, where it is known.
        categorical: how unordered choices are modelled: "equal", any two levels have the same correlation, which is learned; or "wishart",
            a full covariance (for up to 20 levels; parameters with more keep "equal"). A process always has "equal".
        ordinal: names of categorical parameters whose choices are ordered; one that no trial has is warned of.
        preset: "default", or "paper": the settings of the paper (rank 2, one chain of 400 sweeps with 200 dropped, max over draws, D random
            start points, warm start, continuous parameters on an even grid). Any setting given beside it wins.
        feasible: a function of the parameters that says whether they may be tried; suggestions respect it. It sees the parameters that are
            chosen together and constants. The very first trial of a define-by-run study is drawn before the space is known and cannot
            respect it, unless `search_space` is given.
        compress: let a process choose on values whose distance to the best is compressed, linear near the best and logarithmic far from it,
            where that predicts better; and count values that are so much worse than all others that no smooth function explains them as
            failed trials, so that a few terrible values do not drown the rest; by default True. What is shown is never compressed.
        allow_repeats: for noisy objectives: points may be suggested again, and improvement is measured from the best posterior mean.
        search_space: the distributions by name, where they are known ahead; then the first trials belong to the start design too.
        independent_sampler: for conditional parameters; by default uniform draws.
        warn_independent_sampling: log a line when a parameter is left to the independent sampler after the start.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        acquisition: str | None = None,
        beta: float | None = None,
        model: str | None = None,
        rank: int | None = None,
        n_sweeps: int | None = None,
        n_burn_in: int | None = None,
        n_chains: int | None = None,
        adapt_rank: bool | None = None,
        offsets: bool | None = None,
        main_effects: bool | None = None,
        priors: Priors | None = None,
        noise_std: float | None = None,
        categorical: str | None = None,
        ordinal: Iterable[str] = (),
        preset: str = "default",
        feasible: Feasible | None = None,
        compress: bool | None = None,
        allow_repeats: bool = False,
        search_space: Mapping[str, BaseDistribution] | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        settings = {
            "n_startup_trials": n_startup_trials, "acquisition": acquisition, "beta": beta, "model": model, "rank": rank,
            "n_sweeps": n_sweeps, "n_burn_in": n_burn_in, "n_chains": n_chains, "adapt_rank": adapt_rank, "offsets": offsets,
            "main_effects": main_effects, "priors": priors, "noise_std": noise_std, "categorical": categorical, "compress": compress,
            "allow_repeats": allow_repeats,
        }  # fmt: skip
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise ValueError(f"seed must be a whole number of at least 0, or None; got {seed!r}")
        ordinal = parameter_names(ordinal)
        if feasible is not None and not callable(feasible):
            raise ValueError(f"feasible must be a function of the parameters, or None; got {feasible!r}")
        if search_space is not None:
            _check_search_space(search_space)
            unknown = sorted(set(ordinal) - set(search_space))
            if unknown:
                raise ValueError(f"ordinal must name parameters of the search space; {unknown[0]!r} is none")
            self._check_ordinal(parameters_of(search_space, ordinal))
        _check_independent(independent_sampler, warn_independent_sampling)
        self._strategy = make_strategy(preset, settings)
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self._ordinal = frozenset(ordinal)
        self._feasible = feasible
        self._search_space = None if search_space is None else dict(search_space)
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = warn_independent_sampling
        self._said: set[tuple[str, str]] = set()  # log lines that are said once: (what, of what)
        self._last: dict[str, Posterior] = {}  # by study, where the strategy wants a warm start
        self._feasibility: tuple[tuple[tuple[Parameter, ...], str], Feasibility] | None = None  # of the space it was last asked of
        self._make_locks()

    def _make_locks(self) -> None:
        self._saying, self._choosing = threading.Lock(), threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the locks, the warm start and the list of feasible points."""
        state = self.__dict__.copy()
        del state["_saying"], state["_choosing"]
        state["_last"], state["_feasibility"] = {}, None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same sampler with locks of its own."""
        self.__dict__.update(state)
        self._make_locks()

    def __repr__(self) -> str:
        return f"BKTFSampler(seed={self._seed}, {self._strategy})"

    def reseed_rng(self) -> None:
        """Nothing to do for our own draws, which depend on the trial's number; passed on to the independent sampler."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    # --- Optuna's questions --------------------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002
        """The parameters that are chosen together: those of every finished trial, with their latest ranges."""
        return self._known_space(study.get_trials(deepcopy=False, states=FINISHED)).distributions

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        """Values for all of these parameters together."""
        _check_single_objective(study)
        if not search_space:
            return {}
        trials = study.get_trials(deepcopy=False)
        if any(t.constraints for t in trials):
            raise ValueError(
                "BKTFSampler does not take outcome constraints (trial.set_constraint) yet; use `feasible` for constraints between "
                "parameters, or return NaN where the outcome is not acceptable"
            )
        held = _held_values(study, trial)
        whole = self._known_space(trials).distributions
        left_out = whole.keys() - search_space.keys()  # another sampler around this one has taken them out
        if left_out and left_out <= held.keys():
            search_space = {name: search_space.get(name, d) for name, d in whole.items()}
        parameters = parameters_of(search_space, self._ordinal)
        self._check_ordinal(parameters)
        self._say_unseen_ordinal(study, trials)
        params = self._suggest(study, trial, parameters, trials, held)
        return {name: value for name, value in params.items() if name not in left_out}

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        """A value for a parameter that is not chosen with the others."""
        _check_single_objective(study)
        if self._warn_independent_sampling and self._is_past_start(study, trial):
            self._say_once(
                "independent", param_name,
                f"the parameter {param_name!r} is drawn independently, because not every finished trial has it (or its range is beyond "
                "double precision); the model does not see it. Silence this with warn_independent_sampling=False",
            )  # fmt: skip
        if self._independent_sampler is not None:
            return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        stream = seed_for(self._seed, trial.number, crc32(param_name.encode())) % 2**32
        return RandomSampler(seed=stream).sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Passed on to the independent sampler."""
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Mark a trial that Ctrl-C ended, which says nothing of its point; stop the study where nothing is left to try."""
        if state == TrialState.FAIL and _ends_with_interrupt():
            study._storage.set_trial_system_attr(trial._trial_id, INTERRUPTED, True)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)
        if not self._strategy.allow_repeats and self.is_exhausted(study):
            try:
                study.stop()
            except RuntimeError:  # asked and told by hand: there is no loop to stop
                return
            self._say_stopped(study, trial)

    # --- one suggestion ------------------------------------------------------------------------------------------

    def _suggest(
        self, study: Study, trial: FrozenTrial, parameters: tuple[Parameter, ...], trials: list[FrozenTrial], held: dict[str, Any]
    ) -> dict[str, Any]:
        """Choose, publish, look again; where another worker published the same point first, choose again."""
        maximize = study.direction == StudyDirection.MAXIMIZE
        space = self._known_space(trials)
        strategy = self._strategy
        if space.is_open or not space.distributions.keys() <= {p.name for p in parameters}:
            strategy = replace(strategy, allow_repeats=True)  # the same point with other values elsewhere is not a repeat
        fixed = _fixed_coordinates(held, parameters)
        feasible = self._feasible_point(parameters, space.constants)
        history = read_history(trials, parameters, maximize, trial.number, datetime.now())
        seed = seed_for(self._seed, trial.number)
        model = None
        if len(history.y) and len(history.tried) >= strategy.n_startup(len(parameters)):
            warm = self._last.get(study.study_name) if strategy.warm_start else None
            model = fit_history(parameters, history, strategy, maximize, seed, fixed, warm)
            if strategy.warm_start:
                self._last[study.study_name] = model.posterior
            if model.n_outliers:
                self._say_once(
                    "outliers", study.study_name,
                    f"{model.n_outliers} of {len(history.y)} values are so much worse than all others that no smooth function explains "
                    "them; they count as failed trials. compress=False keeps them",
                )  # fmt: skip
            if len(model.posterior.y) < len(history.y) - model.n_outliers:
                self._say_once(
                    "subset", study.study_name,
                    f"beyond {MAX_PROCESS} trials the Gaussian process sees {MAX_PROCESS} of them: the best, the latest, the neighbours "
                    "of the best, and others spread over the space",
                )  # fmt: skip

        def choose(now: History, taken: Floats, feasible: Callable[[Floats], bool] | None) -> Suggestion:
            if model is None:
                avoid = np.concatenate((now.tried, now.pending, taken))
                return start_point(parameters, strategy, trial.number, self._seed, avoid, feasible, fixed)
            return next_point(model, strategy, maximize, seed, now.pending, np.concatenate((now.tried, taken)), feasible, fixed)

        taken = np.empty((0, len(parameters)))  # by others while we were choosing
        for attempt in range(MAX_AGREEMENTS):
            with self._choosing:  # threads that share the sampler choose one after the other; processes look again afterwards
                now = read_history(study.get_trials(deepcopy=False), parameters, maximize, trial.number, datetime.now())
                try:
                    suggestion = choose(now, taken, feasible)
                except NothingFeasible:
                    if not fixed:
                        raise
                    self._say_once(
                        "held", str(trial.number), f"trial {trial.number} was enqueued with values that `feasible` does not allow"
                    )
                    suggestion = choose(now, taken, None)
                if suggestion.is_poor:
                    self._say_once(
                        "poor", study.study_name,
                        POOR_SEARCH,
                    )  # fmt: skip
                if suggestion.is_repeat and not strategy.allow_repeats:
                    self._end_or_repeat(study, trial)
                self._publish(study, trial, parameters, suggestion)
            if strategy.allow_repeats or suggestion.is_repeat or not self._is_taken(study, trial, parameters, suggestion.point):
                break
            taken = np.concatenate((taken, suggestion.point[None]))
            time.sleep(random.uniform(0.0, MAX_WAIT * (attempt + 1)))  # so that two workers who saw each other do not meet again
        return values_at(parameters, suggestion.point)

    def _end_or_repeat(self, study: Study, trial: FrozenTrial) -> None:
        """Nothing is left: end the trial and the study, or where that cannot be (or the space is not yet believed) warn and repeat."""
        if study._thread_local.in_optimize_loop and self.is_exhausted(study):
            study.stop()
            self._say_stopped(study, trial)
            raise TrialPruned("every point of the search space was tried or is being tried")
        self._say_once("repeat", study.study_name, "every point of the search space was tried: the next suggestions repeat some of them")

    def _publish(self, study: Study, trial: FrozenTrial, parameters: tuple[Parameter, ...], suggestion: Suggestion) -> None:
        """Tell the other workers what this trial will try."""
        values = values_at(parameters, suggestion.point)
        record: dict[str, Any] = {"internal": {p.name: float(p.distribution.to_internal_repr(values[p.name])) for p in parameters}}
        if suggestion.expected_improvement is not None:
            record["expected_improvement"] = suggestion.expected_improvement
        for key, piece in pieces_of(record).items():
            study._storage.set_trial_system_attr(trial._trial_id, key, piece)

    def _is_taken(self, study: Study, trial: FrozenTrial, parameters: tuple[Parameter, ...], point: Floats) -> bool:
        """Whether another trial has the same point. Of two workers the one that publishes last sees the other, so it must give way."""
        now = read_history(study.get_trials(deepcopy=False), parameters, True, trial.number, datetime.now())
        here = np.array([p.coordinate(p.value(float(x))) for p, x in zip(parameters, point, strict=True)])
        return bool(np.any(np.all(np.concatenate((now.tried, now.pending)) == here, axis=1)))

    # --- what is known -------------------------------------------------------------------------------------------

    def _known_space(self, trials: Sequence[FrozenTrial]) -> KnownSpace:
        """The space as it was given, or as finished trials show it."""
        if self._search_space is None:
            return known_space(trials)
        inside = {name: d for name, d in self._search_space.items() if can_be_modelled(d)}
        constants = {name: only_value(d) for name, d in self._search_space.items() if d.single()}
        return KnownSpace(inside, constants, any(name not in inside and name not in constants for name in self._search_space))

    def _feasible_point(self, parameters: tuple[Parameter, ...], constants: dict[str, Any]) -> Feasibility | None:
        """The user's function of parameters, as a function of coordinates; kept, because listing what it allows takes time."""
        feasible = self._feasible
        if feasible is None:
            return None
        key = (parameters, repr(constants))
        known, kept = self._feasibility or (None, None)  # read once: another thread may ask for another study
        if kept is None or known != key:

            def of_point(point: Floats) -> bool:
                return bool(feasible({**constants, **values_at(parameters, point)}))

            kept = Feasibility(parameters, of_point)
            self._feasibility = key, kept
            return kept
        return kept

    def _check_ordinal(self, parameters: tuple[Parameter, ...]) -> None:
        for p in parameters:
            if p.ordinal and not isinstance(p.distribution, CategoricalDistribution):
                raise ValueError(
                    f"ordinal names categorical parameters; {p.name!r} is {p.distribution!r}, which is ordered anyway. Leave it out"
                )

    def _say_unseen_ordinal(self, study: Study, trials: Sequence[FrozenTrial]) -> None:
        """Warn of ordinal names that a define-by-run space seems to lack; a conditional parameter may still come."""
        if not self._ordinal or self._search_space is not None or sum(t.state.is_finished() for t in trials) < BELIEVED_AFTER:
            return
        seen = {name: d for t in trials for name, d in t.distributions.items()}
        unseen = sorted(self._ordinal - seen.keys())
        if unseen:
            known = ", ".join(repr(name) for name, d in seen.items() if isinstance(d, CategoricalDistribution)) or "none"
            self._say_once(
                "ordinal", study.study_name,
                f"ordinal names {', '.join(map(repr, unseen))}, which no trial has so far; the categorical parameters are {known}. "
                "Check the spelling",
            )  # fmt: skip

    def _is_past_start(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether the model could be in use, so a parameter drawn independently is one it does not see."""
        trials = study.get_trials(deepcopy=False, states=FINISHED)
        space = self._known_space(trials).distributions
        return trial.number > 0 and len(trials) >= max(2, self._strategy.n_startup(len(space)))

    def is_exhausted(self, study: Study) -> bool:
        """Whether every point of a finite space that may be tried was tried or is under way.

        Without `search_space` the space is only what trials have shown, and is believed after some trials.
        """
        trials = study.get_trials(deepcopy=False)
        space = self._known_space(trials)
        parameters = parameters_of(space.distributions, self._ordinal)
        total = n_points(parameters)
        if space.is_open or not parameters or total > (len(trials) if self._feasible is None else ENUMERATE_POINTS):
            return False
        if self._search_space is None and sum(t.state.is_finished() for t in trials) < BELIEVED_AFTER:
            return False
        history = read_history(trials, parameters, True, -1, datetime.now())
        taken = {tuple(row) for row in np.concatenate((history.tried, history.pending)).tolist()}
        feasible = self._feasible_point(parameters, space.constants)
        if feasible is None:
            return len(taken) >= total
        if feasible.points is not None:
            return len(feasible.points) > 0 and all(tuple(point) in taken for point in feasible.points.tolist())
        rng = np.random.default_rng(self._seed)
        return any_left(parameters, lambda point: point not in taken and feasible(np.array(point)), {}, rng) is None

    def _say_stopped(self, study: Study, trial: FrozenTrial) -> None:
        self._say_once(
            "exhausted", study.study_name, f"every point of the search space was tried: the study stops after trial {trial.number}"
        )

    def _say_once(self, what: str, of: str, message: str) -> None:
        with self._saying:
            said = (what, of) in self._said
            self._said.add((what, of))
        if not said:
            _logger.warning("bktf: %s", message)


def parameter_names(ordinal: object) -> tuple[str, ...]:
    """The names given as `ordinal`, checked."""
    if isinstance(ordinal, str):
        raise ValueError(f'ordinal must be a list of parameter names, as in ["{ordinal}"]; got a single string')
    names = tuple(ordinal) if isinstance(ordinal, Iterable) else (ordinal,)
    if not isinstance(ordinal, Iterable) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"ordinal must be a list of parameter names; got {ordinal!r}")
    return names


def _check_search_space(search_space: object) -> None:
    """Refuse what is not a dictionary of Optuna distributions."""
    example = '{"x": FloatDistribution(0.0, 1.0)}'
    if not isinstance(search_space, Mapping) or not search_space:
        raise ValueError(f"search_space must be a dictionary like {example} with at least one parameter; got {search_space!r}")
    for name, distribution in search_space.items():
        if not isinstance(name, str):
            raise ValueError(f"search_space must be a dictionary like {example}: its names must be strings; got {name!r}")
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"search_space must hold an Optuna distribution for each name, as {example}; {name!r} is {distribution!r}. "
                "bktf.minimize takes short forms such as (0.0, 1.0)"
            )


def _check_independent(sampler: object, warn: object) -> None:
    """Refuse what is no sampler for conditional parameters, and an unclear answer to whether to warn."""
    if sampler is not None and not isinstance(sampler, BaseSampler):
        raise ValueError(
            f"independent_sampler must be an Optuna sampler, as optuna.samplers.RandomSampler(), or None; got {sampler!r}"
        )  # fmt: skip
    if not isinstance(warn, bool):
        raise ValueError(f"warn_independent_sampling must be True or False; got {warn!r}")


def _ends_with_interrupt() -> bool:
    """Whether Optuna's loop is ending a trial because of Ctrl-C.

    Optuna tells samplers only that a trial failed, after the handling of the exception; the exception itself is still a local variable of
    its loop. Should Optuna change that, the trial counts as a failure.
    """
    return any(
        isinstance(value, KeyboardInterrupt)
        for frame, _ in traceback.walk_stack(None)
        if frame.f_globals.get("__name__") == "optuna.study._optimize"
        for value in frame.f_locals.values()
    )


def _check_single_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"BKTFSampler takes studies with one objective; this one has {len(study.directions)}. Use optuna.samplers.NSGAIISampler"
        )


def _held_values(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """Values that this trial keeps: it was enqueued with them, or a PartialFixedSampler around this sampler holds them."""
    return {**getattr(study.sampler, "_fixed_params", {}), **trial.system_attrs.get("fixed_params", {})}


def _fixed_coordinates(held: dict[str, Any], parameters: tuple[Parameter, ...]) -> dict[int, float]:
    """Coordinates that a trial keeps, by axis."""
    coordinates = {d: p.coordinate(held[p.name]) for d, p in enumerate(parameters) if p.name in held}
    return {d: x for d, x in coordinates.items() if x is not None}
