"""`BKTFSampler`: the engine behind Optuna's sampler contract.

Suggestions depend on no state of the sampler: each is a function of the seed, the number of the
trial and the trials in the storage. So workers with one seed do not repeat each other. A study
reopened from storage continues where it was, and one sampler may serve several studies. (Only the
preset "paper" keeps the last posterior as a warm start; it may be lost at any time.)
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from bktf._checks import warn_of_change
from bktf.engine import EngineSettings, check_expected, make_belief, make_settings, seed_for
from bktf.optuna_sampler import argument_checks as checks
from bktf.optuna_sampler.earlier_results import check_earlier
from bktf.optuna_sampler.former_spellings import changed_meaning, replace_model
from bktf.optuna_sampler.messages import Messages, independent_text
from bktf.optuna_sampler.study_space import StudySpace
from bktf.optuna_sampler.study_suggestions import CACHES, Distributions, Feasible, StudySuggestions
from bktf.optuna_sampler.trials import INTERRUPTED, ends_with_interrupt, read_all, whole_study
from bktf.spaces import Space
from bktf.surrogate import Priors


class BKTFSampler(StudySuggestions, BaseSampler):
    """An Optuna sampler that models the objective with Bayesian kernelized tensor factorization.

    Swap it in for any other sampler of a single-objective study::

        study = optuna.create_study(sampler=bktf.BKTFSampler(seed=0))

    All parameters are chosen together. Those that only some trials have are conditional: which
    values of others they depend on is learned from the trials. A parameter that no trial has shown
    is left to `independent_sampler`. Failed trials (an exception that is caught, or NaN) make their
    neighbourhood less attractive; they are not retried and not given a value. A trial that Ctrl-C
    ended is ignored. Reports of pruned and running trials count with their step where that predicts
    returned values better. On a finite space no point is suggested twice, and the study stops when
    nothing is left. Trials that begin before any has finished may repeat each other, because the
    space is not known yet; `search_space` avoids that.

    Args:
        seed: makes suggestions reproducible; with the same trials in the storage they are the same
            in another process.
        n_startup_trials: trials that were evaluated, one of them with a value, before the model is
            used. By default D + 4, at most 10 (with the preset "paper" D). D counts parameters that
            are chosen together; at most 10 million. Start points are those of a scrambled Sobol
            sequence.
        acquisition: "ei" (expected improvement), "ucb", "max" (over draws, what the paper's
            experiments use) or "thompson".
        beta: weight of the standard deviation in "ucb".
        rank: the number of components of the surrogate (products of factors, the paper's model),
            at most 10,000, on every space. `math.inf` is their limit, a fully Bayesian Gaussian
            process. The default, "auto", is infinite where a parameter is continuous or
            conditional, most are unordered categories, or trials report values. On other finite
            spaces infinite rank and three components alternate: one each up to 20 points, then
            components five times of six; beyond 100,000 points infinite rank alone is used from 100
            trials on. Beyond 400 trials a
            process sees a subset: the best, the latest, the neighbours of the best, others spread
            over the space; its kernel parameters are learned from 200 of them.
        n_sweeps: sweeps of each chain of components, or with `rank=math.inf` of the process; by
            default 400 and 40, at most 10 million.
        n_burn_in: how many of them to drop; by default 85 %, and 24 of the process's 40.
        n_chains: chains; by default 4 and 2, at most 10,000.
        adapt_rank: shrink the weights of components, each more than the one before, so that `rank`
            is only an upper bound.
        offsets: factors of components vary around learned offsets instead of around 0.
        main_effects: one more component for each parameter alone.
        residual_process: add a Gaussian process for the residuals of the components. The two parts
            are not identifiable together, so chains mix slowly; it chose worse than either alone.
        priors: a `bktf.Priors`.
        noise_std: standard deviation of the objective's noise, where it is known.
        categorical: how unordered choices are modelled. "equal": any two levels have the same
            correlation, which is learned. "wishart": a full covariance, for up to 20 levels;
            parameters with more keep "equal". A process always has "equal".
        ordinal: names of categorical parameters whose choices are ordered; a name that no trial has
            gives a warning.
        preset: "default", or "paper": the settings of the paper (rank 2, one chain of 400 sweeps
            with 200 dropped, max over draws, D random start points, warm start, continuous
            parameters on an even grid). Any setting that is given replaces that of the preset.
        feasible: a function of the parameters that says whether they may be tried; suggestions
            respect it. It is given the parameters that are chosen together and constants. The first
            trial of a define-by-run study is drawn before the space is known and cannot respect
            it, unless `search_space` is given.
        compress: by default True. Where that predicts better, a process sees compressed values:
            their distance to the best is linear near the best and logarithmic far from it. Values
            so much worse than all others that no smooth function explains them count as failed
            trials. What is shown is never compressed.
        optimism: what a process that chooses expects where nothing is known, from 0, the worst of
            what was seen, to 1, the average. By default of "ei" with four or more parameters, all
            ordered, 0 at first and 1 from 15 values for each parameter on; otherwise 1.
        allow_repeats: for noisy objectives: points may be suggested again, and improvement is
            measured from the best posterior mean.
        search_space: the distributions by name, where they are known ahead; then the first trials
            belong to the start design, too. A space with conditions is a list of dictionaries and
            `bktf.when(…)`, as in `bktf.minimize`.
        candidates: a table of all that may be tried: a pandas data frame, a dictionary of columns
            or a list of dictionaries. Numeric columns are axes, others categories; each trial is
            one row, and rows are not tried twice. The objective suggests columns by their names.
            `search_space` may describe columns; those that it does not name are left out then.
        earlier: results of other materials, machines or data sets: a list of Optuna studies of the
            same direction and of `bktf.earlier(table, target=…)`. How far they agree with this
            study is learned; parameters may be missing or further ones. Their best points are tried
            first.
        expected_optimum: where you expect the optimum, by parameter: (centre, standard deviation),
            a dictionary from levels to weights, or an object with a method `pdf`. It counts less
            with every trial.
        independent_sampler: for parameters that no trial has shown; by default uniform draws.
        warn_independent_sampling: log a line when a parameter is left to the independent sampler
            after the start.
        model: the former spelling of `rank`: "process", "components", "both" or "auto".
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        acquisition: str | None = None,
        beta: float | None = None,
        rank: float | str | None = None,
        n_sweeps: int | None = None,
        n_burn_in: int | None = None,
        n_chains: int | None = None,
        adapt_rank: bool | None = None,
        offsets: bool | None = None,
        main_effects: bool | None = None,
        residual_process: bool | None = None,
        priors: Priors | None = None,
        noise_std: float | None = None,
        categorical: str | None = None,
        ordinal: Iterable[str] = (),
        preset: str = "default",
        feasible: Feasible | None = None,
        compress: bool | None = None,
        optimism: float | None = None,
        allow_repeats: bool = False,
        search_space: Mapping[str, Any] | Sequence[Any] | Space | None = None,
        candidates: object = None,
        earlier: Sequence[Any] | None = None,
        expected_optimum: Mapping[str, Any] | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        model: str | None = None,
    ) -> None:
        checks.check_seed(seed)
        ordinal = checks.parameter_names(ordinal)
        checks.check_feasible(feasible)
        given = None if search_space is None else checks.checked_space(search_space, ordinal)
        self._pool = checks.checked_pool(candidates, given, ordinal)
        given = given if self._pool is None else self._pool.space
        self._earlier = check_earlier(earlier)
        self._expected = {} if expected_optimum is None else check_expected(expected_optimum)
        if given is not None:
            make_belief(given.modelled, self._expected)  # refuses what a parameter cannot be
            checks.check_expected_names(given, self._expected)
        checks.check_independent(independent_sampler, warn_independent_sampling)
        changes = {
            "n_startup_trials": n_startup_trials, "acquisition": acquisition, "beta": beta,
            "rank": rank, "n_sweeps": n_sweeps, "n_burn_in": n_burn_in, "n_chains": n_chains,
            "adapt_rank": adapt_rank, "offsets": offsets, "main_effects": main_effects,
            "residual_process": residual_process, "priors": priors, "noise_std": noise_std,
            "categorical": categorical, "compress": compress, "optimism": optimism,
            "allow_repeats": allow_repeats,
        }  # fmt: skip
        warning = None if model is None else replace_model(model, preset, changes)
        self._settings = make_settings(preset, changes)
        if model is None:  # and the rank was not refused
            warning = changed_meaning(preset, changes)
        if warning is not None:
            warn_of_change(warning)
        random_seed = np.random.SeedSequence().generate_state(1)[0]
        self._seed = int(random_seed if seed is None else seed)
        self._ordinal = frozenset(ordinal) if given is None else given.ordinal
        self._feasible = feasible
        self.space = StudySpace(given, self._ordinal)
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = warn_independent_sampling
        self.messages = Messages()
        self._make_caches()

    @classmethod
    def from_settings(cls, settings: EngineSettings, **further: Any) -> "BKTFSampler":
        """A sampler with these settings of the engine; `further` are other arguments."""
        sampler = cls(**further)
        sampler._settings = settings
        return sampler

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and the caches."""
        return {name: value for name, value in self.__dict__.items() if name not in CACHES}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same sampler with a new lock and nothing cached."""
        self.__dict__.update(state)
        self._make_caches()

    def __repr__(self) -> str:
        return f"BKTFSampler(seed={self._seed}, {self._settings})"

    @property
    def settings(self) -> EngineSettings:
        """The settings of the engine."""
        return self._settings

    def reseed_rng(self) -> None:
        """Passed on to the independent sampler; suggestions depend on the trial's number."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    # --- the methods that Optuna calls ---------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        """The parameters that are chosen together: those of every finished trial."""
        study = whole_study(study)
        if self._pool is not None:
            return {}  # the columns of a row are given one by one, whatever their distributions
        if self.space.is_given:
            return self.space.of(study, {}).distributions
        trials = read_all(study)
        self._first_reading.of = (study._storage, trial._trial_id, trials)
        return self.space.of(study, trials).distributions

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: Distributions,
    ) -> dict[str, Any]:
        """Values for all of these parameters together."""
        study = whole_study(study)
        if len(study.directions) > 1:
            raise checks.several_objectives(study)
        if not search_space:
            return {}
        return self.suggest_for(study, trial, search_space)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A value for a parameter that is not chosen with the others."""
        study = whole_study(study)
        if len(study.directions) > 1:
            raise checks.several_objectives(study)
        if self._pool is not None:
            return self.cell_for(study, trial, param_name, param_distribution)
        if self._warn_independent_sampling and self._is_past_start(study, trial):
            text = independent_text(param_name)
            self.messages.say_once("independent", param_name, text)
        sampler = self._independent_sampler
        if sampler is None:
            stream = seed_for(self._seed, trial.number, crc32(param_name.encode())) % 2**32
            sampler = RandomSampler(seed=stream)
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Passed on to the independent sampler."""
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Record that Ctrl-C ended a trial; stop the study where nothing is left to try."""
        study = whole_study(study)
        if state == TrialState.FAIL and ends_with_interrupt():
            study._storage.set_trial_system_attr(trial._trial_id, INTERRUPTED, True)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)
        if not self._settings.allow_repeats and self.is_exhausted(study):
            try:
                study.stop()
            except RuntimeError:  # asked and told by hand: there is no loop to stop
                return
            self.messages.mention_stop(study.study_name, trial.number)
