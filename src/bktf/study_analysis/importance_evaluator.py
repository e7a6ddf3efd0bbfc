"""`BKTFImportanceEvaluator`: importances for `optuna.importance.get_param_importances`."""

from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.study import Study
from optuna.trial import TrialState

from bktf import analysis
from bktf.study_analysis.sources import Target, analyze, with_target

KINDS = ("total", "first")


class BKTFImportanceEvaluator(BaseImportanceEvaluator):
    """Importances from the surrogate: means of Sobol indices, conditional parameters included.

    Use it as Optuna's own evaluators::

        optuna.importance.get_param_importances(study, evaluator=bktf.BKTFImportanceEvaluator())

    `bktf.importance(study)` has intervals and interactions as well.

    Args:
        kind: "total", what is lost without a parameter, or "first", what it explains alone.
        seed: of the functions that the means are over.
    """

    def __init__(self, *, kind: str = "total", seed: int | None = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}")
        self.kind = kind
        self.seed = seed

    def evaluate(
        self,
        study: Study,
        params: list[str] | None = None,
        *,
        target: Target | None = None,
    ) -> dict[str, float]:
        """The importance of each parameter, the largest first.

        A parameter with a single value has none. `target` gives the values of trials, as for a
        study with several objectives.
        """
        if target is None and len(study.directions) > 1:
            raise ValueError(
                "give target=, as lambda trial: trial.values[0]: the study has "
                f"{len(study.directions)} objectives"
            )
        known = _distributions(study)
        for name in params or ():
            if name not in known:
                names = ", ".join(map(repr, known))
                raise ValueError(f"params must be parameters of the study, {names}; got {name!r}")
        posterior = analyze(study if target is None else with_target(study, target))
        found = analysis.importance(posterior, seed=self.seed, pairs=False)
        estimates = found.total if self.kind == "total" else found.first
        values = {name: estimates[name].mean if name in estimates else 0.0 for name in known}
        wanted = values if params is None else {name: values[name] for name in params}
        return dict(sorted(wanted.items(), key=lambda item: -item[1]))


def _distributions(study: Study) -> dict[str, BaseDistribution]:
    """The parameters of completed trials."""
    found: dict[str, BaseDistribution] = {}
    for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        found |= trial.distributions
    return found
