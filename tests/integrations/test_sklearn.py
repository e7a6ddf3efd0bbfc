"""BKTFSearchCV against scikit-learn itself."""

import math
import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from scipy import stats
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import bktf
from bktf.integrations.sklearn import BRANCH, BKTFSearchCV, read_branches, read_sklearn_space

X, y = load_iris(return_X_y=True)
SPACE = {
    "C": optuna.distributions.FloatDistribution(1e-2, 1e2, log=True),
    "kernel": ["rbf", "linear"],
}


def test_nested_cross_validation_is_stratified_and_scores_well() -> None:
    search = BKTFSearchCV(SVC(), SPACE, n_iter=8, random_state=0)
    assert is_classifier(search)
    assert not is_regressor(search)
    assert cross_val_score(search, X, y, cv=3).min() > 0.9


def test_a_search_behaves_like_a_search() -> None:
    search = BKTFSearchCV(SVC(), SPACE, n_iter=12, random_state=0, return_train_score=True).fit(
        X, y
    )
    reference = RandomizedSearchCV(
        SVC(), {"C": stats.loguniform(1e-2, 1e2)}, n_iter=3, return_train_score=True
    ).fit(X, y)
    assert {k for k in reference.cv_results_ if not k.startswith("param_")} <= set(
        search.cv_results_
    )
    assert len(search.cv_results_["params"]) == 12
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.predict(X[:3]).shape == (3,)
    assert search.score(X, y) > 0.95
    assert len(search.study_.trials) == 12
    assert search.study_.best_value == pytest.approx(search.best_score_)


def test_the_search_is_reproducible_and_clones() -> None:
    first = BKTFSearchCV(SVC(), SPACE, n_iter=10, random_state=3).fit(X, y)
    again = clone(first).fit(X, y)
    assert first.cv_results_["params"] == again.cv_results_["params"]
    other = BKTFSearchCV(SVC(), SPACE, n_iter=10, random_state=4).fit(X, y)
    assert first.cv_results_["params"] != other.cv_results_["params"]


def test_rounds_of_several_candidates_and_jobs() -> None:
    search = BKTFSearchCV(SVC(), SPACE, n_iter=10, n_candidates=4, n_jobs=2, random_state=0).fit(
        X, y
    )
    assert len(search.cv_results_["params"]) == 10
    assert len({tuple(p.items()) for p in search.cv_results_["params"]}) == 10


def test_pipelines_groups_metrics_and_regressors() -> None:
    A, b = load_diabetes(return_X_y=True)
    space = {
        "ridge__alpha": stats.loguniform(1e-4, 1e3),
        "standardscaler": [StandardScaler(), MinMaxScaler(), "passthrough"],
    }
    search = BKTFSearchCV(
        make_pipeline(StandardScaler(), Ridge()), space, n_iter=8, random_state=0, cv=GroupKFold(3),
        scoring=["r2", "neg_mean_absolute_error"], refit="r2",
    )  # fmt: skip
    assert is_regressor(search)
    search.fit(A, b, groups=np.arange(len(b)) % 7)
    assert search.best_score_ > 0.4
    assert search.best_params_["standardscaler"] in space["standardscaler"]
    with pytest.raises(ValueError, match="refit must name the one to maximise"):
        BKTFSearchCV(
            Ridge(), {"alpha": (0.1, 1.0)}, n_iter=2, scoring=["r2", "neg_max_error"], refit=False
        ).fit(A, b)


def test_spaces_take_every_form() -> None:
    space, originals = read_sklearn_space(
        {
            "a": stats.uniform(1, 4), "b": stats.randint(2, 9), "c": stats.loguniform(1e-3, 1), "d": [0.1, 1, 10], "e": [100, 1, 10],
            "f": ["l1", "l2"], "g": [None, "auto", 0.5], "h": [True, False], "i": (1, 5), "j": bktf.choices("x", "y"),
            "k": ("sqrt", "log2"), "l": range(3, 9),
        }
    )  # fmt: skip
    d: dict[str, Any] = dict(space.distributions)
    assert d["a"] == optuna.distributions.FloatDistribution(1, 5)
    assert d["b"] == optuna.distributions.IntDistribution(2, 8)
    assert d["c"] == optuna.distributions.FloatDistribution(1e-3, 1, log=True)
    assert d["d"].choices == (0.1, 1, 10)
    assert d["e"].choices == (1, 10, 100)
    assert {"d", "e"} == set(space.ordinal)
    assert list(originals["g"].values()) == [None, "auto", 0.5]
    assert list(originals["h"].values()) == [True, False]
    assert d["k"].choices == ("sqrt", "log2")
    assert d["i"] == optuna.distributions.IntDistribution(1, 5)
    more, labels = read_sklearn_space(
        {"a": (True, False), "b": stats.rv_discrete(values=([1, 10, 100], [0.2, 0.3, 0.5]))}
    )
    assert list(labels["a"].values()) == [True, False]
    assert more.distributions["b"].choices == (1, 10, 100)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="needs bounds; this one reaches from -inf to inf"):
        read_sklearn_space({"a": stats.norm()})
    for wrong in ([], [3], 3):
        with pytest.raises(ValueError, match="must be a dictionary, or a list of dictionaries"):
            read_branches(wrong)  # type: ignore[arg-type]


def test_an_exhausted_space_ends_early_and_fits_that_fail_are_avoided() -> None:
    search = BKTFSearchCV(
        SVC(), {"kernel": ["rbf", "linear", "poly"]}, n_iter=10, random_state=0
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failing = BKTFSearchCV(SVC(), {"C": (-1.0, 3.0)}, n_iter=16, random_state=0).fit(X, y)
    bad = [p["C"] <= 0 for p in failing.cv_results_["params"][5:]]
    assert sum(bad) <= 3
    assert failing.best_params_["C"] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scored = BKTFSearchCV(
            SVC(), {"C": (-1.0, 3.0)}, n_iter=8, random_state=0, error_score=0.0
        ).fit(X, y)
    assert len(scored.study_.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) == 8


def failed_checks(search: Any) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            r["check_name"]
            for r in check_estimator(search, on_fail=None)
            if r["status"] == "failed"
        }


def test_scikit_learns_own_checks_find_no_more_than_in_its_own_search() -> None:
    theirs = RandomizedSearchCV(
        LogisticRegression(),
        {"C": [0.1, 1.0, 2.0]},
        n_iter=2,
        random_state=0,
        cv=2,
        error_score="raise",
    )
    ours = BKTFSearchCV(
        LogisticRegression(),
        {"C": [0.1, 1.0, 2.0]},
        n_iter=2,
        random_state=0,
        cv=2,
        error_score="raise",
    )
    assert failed_checks(ours) <= failed_checks(theirs)


@pytest.mark.parametrize("rank", ["auto", math.inf, 2])
def test_a_rank_reaches_the_sampler_and_tries_what_the_sampler_would(rank: float | str) -> None:
    settings = {"rank": rank, "n_startup_trials": 4}
    space: dict[str, optuna.distributions.BaseDistribution] = {
        "C": optuna.distributions.FloatDistribution(1e-2, 1e2, log=True)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a rank alone; see the next test
        search = BKTFSearchCV(
            SVC(), space, n_iter=7, random_state=0, sampler_settings=settings
        ).fit(X, y)
    sampler = search.study_.sampler
    assert isinstance(sampler, bktf.BKTFSampler)
    assert sampler.settings.rank == rank
    alone = optuna.create_study(
        direction="maximize",
        sampler=bktf.BKTFSampler.from_settings(
            sampler.settings, seed=sampler._seed, search_space=space
        ),
    )
    for trial in search.study_.trials:
        asked = alone.ask(space)
        assert asked.params == trial.params
        alone.tell(asked, trial.value)


def test_ranks_are_checked_and_warned_of_as_in_the_sampler() -> None:
    def fitted(**settings: Any) -> Any:
        return BKTFSearchCV(SVC(), SPACE, n_iter=1, random_state=0, sampler_settings=settings).fit(
            X, y
        )

    for settings, message in (
        ({"rank": 0}, "rank must be a whole number of at least 1"),
        ({"rank": "infinite"}, r"\"auto\", or math\.inf"),
        ({"rank": math.inf, "offsets": True}, "offsets is about components"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(**settings)
    with pytest.warns(FutureWarning, match="that many components on every space"):
        fitted(rank=2)
    with pytest.warns(FutureWarning, match=r"model='process' is now written rank=math\.inf"):
        former = fitted(model="process")
    assert former.study_.sampler.settings.rank == math.inf


def test_a_list_of_dictionaries_is_searched_as_branches() -> None:
    """As in scikit-learn: every candidate has the parameters of one dictionary."""
    X, y = load_iris(return_X_y=True)
    grid = [
        {"kernel": ["rbf"], "C": (0.1, 10.0), "gamma": (0.01, 1.0)},
        {"kernel": ["linear"], "C": (0.1, 10.0)},
        {"kernel": ["poly"], "C": (0.1, 10.0), "degree": (2, 4), "gamma": ["scale", "auto"]},
        {},
    ]
    search = BKTFSearchCV(SVC(), grid, n_iter=14, cv=3, random_state=0)
    search.fit(X, y)
    keys = {
        "rbf": {"kernel", "C", "gamma"},
        "linear": {"kernel", "C"},
        "poly": {"kernel", "C", "degree", "gamma"},
    }
    tried = [params.get("kernel") for params in search.cv_results_["params"]]
    for params in search.cv_results_["params"]:
        assert params.keys() == (keys[params["kernel"]] if params else set())
        if params.get("kernel") == "poly":
            assert params["gamma"] in ("scale", "auto")
    assert set(tried) == {"rbf", "linear", "poly", None}
    assert search.best_score_ > 0.9


def test_what_several_dictionaries_have_is_one_parameter_where_it_is_of_one_kind() -> None:
    space, originals = read_branches(
        [{"a": (0.0, 1.0), "b": (1, 3), "c": [None, 1]}, {"a": (0.0, 1.0), "b": [True, False]}]
    )
    assert set(space.distributions) == {
        BRANCH, "a", "b (dictionary 1)", "b (dictionary 2)", "c"
    }  # fmt: skip
    assert "a" not in space.activations
    first = {BRANCH: 0, "a": 0.5, "b (dictionary 1)": 2, "c": "choice 0: None"}
    assert originals.of(first) == {"a": 0.5, "b": 2, "c": None}
    assert read_branches([{"a": (0.0, 1.0)}])[0].distributions.keys() == {"a"}


def test_a_search_ends_once_it_is_good_enough() -> None:
    stop = bktf.StopWhenConverged(tolerance=0.5, confidence=0.6)
    search = BKTFSearchCV(SVC(), SPACE, n_iter=40, random_state=0, stop=stop).fit(X, y)
    assert 10 <= len(search.study_.trials) < 40
    assert search.stop.reason is not None
    with pytest.raises(ValueError, match=r"stop must be a bktf\.StopWhenConverged"):
        BKTFSearchCV(SVC(), SPACE, n_iter=2, stop=3).fit(X, y)
