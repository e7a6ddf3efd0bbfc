"""The posterior of a study, of a `Result`, or of a fit: what every analysis begins with."""

from collections.abc import Callable

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from bktf.optimize import Result
from bktf.optuna_sampler import BKTFSampler, stored_settings, whole_study
from bktf.surrogate import Posterior

Source = Posterior | Result | Study
Target = Callable[[FrozenTrial], float]


def analyze(source: Source, *, sampler: BKTFSampler | None = None) -> Posterior:
    """The surrogate given all trials of a study, whichever sampler suggested them.

    It is in your units and direction, and carries names and what may be suggested.

    Args:
        source: an Optuna study, a `Result`, or a posterior, which is returned as it is.
        sampler: a `BKTFSampler` with the settings and the space to use. By default the study's own;
            where it has another sampler, the settings that a BKTFSampler stored with the study, or
            the defaults. Functions such as `feasible` and tables cannot be stored.
    """
    if sampler is not None and not isinstance(sampler, BKTFSampler):
        raise ValueError(f"sampler must be a bktf.BKTFSampler; got {type(sampler).__name__}")
    if isinstance(source, Posterior):
        return source
    if isinstance(source, Result):
        return source.posterior if sampler is None else sampler.posterior_to_show(source.study)
    if not isinstance(source, Study):
        raise ValueError(
            "give a posterior of bktf.fit, a bktf.Result or an Optuna study; got "
            f"{type(source).__name__}"
        )
    study = whole_study(source)
    if len(study.directions) > 1:
        raise ValueError(f"an analysis is of one objective; the study has {len(study.directions)}")
    # What `PartialFixedSampler` keeps
    kept = {} if sampler is not None else getattr(study.sampler, "_fixed_params", {})
    return (sampler or _sampler_of(study)).posterior_to_show(study, kept)


def with_target(study: Study, target: Target) -> Study:
    """A study in memory with the completed trials of another one and values that `target` gives."""
    completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    other = optuna.create_study()
    for trial in completed:
        copied = optuna.create_trial(
            params=trial.params, distributions=trial.distributions, value=float(target(trial))
        )
        other.add_trial(copied)
    other.sampler = study.sampler
    for name, value in study._storage.get_study_system_attrs(study._study_id).items():
        other._storage.set_study_system_attr(other._study_id, name, value)
    return other


def _sampler_of(study: Study) -> BKTFSampler:
    """The sampler whose model a study has: its own, or one with the stored settings."""
    sampler = getattr(study.sampler, "_base_sampler", study.sampler)  # of PartialFixedSampler
    if isinstance(sampler, BKTFSampler):
        return sampler
    return BKTFSampler(seed=0, **stored_settings(study))
