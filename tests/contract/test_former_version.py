"""What the version before wrote, in calls and in files, still works: calls for one release, with a warning."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bktf
from conftest import ROOT
from seeds import seeded

AXES = [np.linspace(0, 1, 6), np.linspace(-2, 2, 5)]
POINTS = np.array([[0.13, -1.7], [0.5, 0.25], [1.0, 2.0]])
DATA = ROOT / "tests" / "data"


def fitted(**settings: Any) -> bktf.Posterior:
    rng = np.random.default_rng(seeded(0))
    X = np.stack([axis[rng.integers(0, axis.size, 10)] for axis in AXES], axis=1)
    return bktf.fit(
        AXES, X, X[:, 0] * X[:, 1], seed=seeded(1), **{"n_sweeps": 12, "n_burn_in": 6, **settings}
    )


# --- calls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("former", "new", "message"),
    [
        (
            {"rank": 0, "local": True},
            {"rank": math.inf},
            r"local=True is now written rank=math\.inf",
        ),
        (
            {"rank": 2, "local": True},
            {"rank": 2, "residual_process": True},
            "local=True is now written residual_process=True",
        ),
        (
            {"local": np.True_},
            {"residual_process": True},
            "local=True is now written residual_process=True",
        ),
        ({"rank": 2, "local": False}, {"rank": 2}, "local=False is now written by leaving it out"),
        (
            {"rank": 0, "local": True, "kernel": ["matern32", "categorical"]},
            {"rank": math.inf, "kernel": [None, "categorical"]},
            r"local=True is now written rank=math\.inf",
        ),
        ({"rank": 0, "local": True, "kernel": "matern32"}, {"rank": math.inf}, "local=True"),
        (
            {"rank": 0, "local": True, "kernel": ("matern12", "wishart")},
            {"rank": math.inf, "kernel": [None, "categorical"]},
            "local=True",
        ),
    ],
)
def test_a_former_spelling_warns_and_gives_what_the_new_one_gives(
    former: dict[str, Any], new: dict[str, Any], message: str
) -> None:
    with pytest.warns(FutureWarning, match=message) as caught:
        old = fitted(**former)
    assert [w.filename for w in caught] == [__file__]  # the caller's line, once
    again = fitted(**new)
    assert (old.rank, old.spec.residual_process) == (again.rank, again.spec.residual_process)
    points = np.round(POINTS) if "kernel" in former else POINTS  # between levels there is nothing
    np.testing.assert_array_equal(old.draws_at(points), again.draws_at(points))


def test_new_spellings_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for settings in (
            {},
            {"rank": math.inf},
            {"residual_process": True},
            {"priors": bktf.Priors(process_noise_rate=0.1)},
        ):
            fitted(**settings)


def test_a_former_keyword_with_another_value_is_refused() -> None:
    with pytest.raises(ValueError, match="local must be True or False; got 1"):
        fitted(local=1)


def test_no_rank_and_no_process_is_no_model() -> None:
    with (
        pytest.warns(FutureWarning, match="local=False"),
        pytest.raises(ValueError, match="rank must be a whole number of at least 1"),
    ):
        fitted(rank=0, local=False)


def test_kernels_that_a_process_never_had_are_refused_as_before() -> None:
    with (
        pytest.warns(FutureWarning, match="local=True"),
        pytest.raises(ValueError, match="the kernel of axis 1 is another"),
    ):
        fitted(rank=0, local=True, kernel=["matern32", "periodic"])


NAMES = [
    "lengthscale_log_mean",
    "lengthscale_log_var",
    "noise_rate",
    "size_log_mean",
    "size_log_var",
    "share_logit_mean",
    "share_logit_var",
]


@pytest.mark.parametrize("name", NAMES)
def test_priors_by_their_former_names_warn_and_are_the_same(name: str) -> None:
    with pytest.warns(
        FutureWarning, match=rf"Priors\.local_{name} is called process_{name}"
    ) as caught:
        former = bktf.Priors(**{f"local_{name}": 0.3})
    assert [w.filename for w in caught] == [__file__]
    assert former == bktf.Priors(**{f"process_{name}": 0.3}) != bktf.Priors()


def test_priors_without_such_a_name_are_refused() -> None:
    with pytest.raises(TypeError, match="local_other"):
        bktf.Priors(local_other=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        bktf.Priors(other=1.0)  # type: ignore[call-arg]


# --- files: tests/data/fit_before_packages_*.npz were written by that version --------------------

RECORDED = {
    "components": (
        2,
        [2.6786135622470555, 0.5462337505027786],
        [0.2893686913256167, 0.5317688064604488],
    ),
    "process": (
        math.inf,
        [2.5912666857104636, 0.5132111905050948],
        [0.4303715299385443, 0.2825656476330633],
    ),
    "both": (1, [2.465848636579688, 0.7488083720508626], [0.4883044333889272, 0.400976082356882]),
}
WHERE = [[0.3, 1.7, 1.0], [0.9, 2.5, 2.0]]


def former_file(name: str) -> Path:
    return DATA / f"fit_before_packages_{name}.npz"


def rewritten(name: str, path: Path, **changes: Any) -> Path:
    """A former file with some of its arrays replaced (None: left out)."""
    with np.load(former_file(name)) as file:
        arrays = {k: file[k] for k in file.files} | changes
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    return path


@pytest.mark.parametrize("name", RECORDED)
def test_a_former_file_gives_what_it_gave(name: str) -> None:
    rank, mean, std = RECORDED[name]
    posterior = bktf.load(former_file(name))
    assert posterior.rank == rank
    assert posterior.spec.residual_process == (name == "both")
    assert (posterior.draws.process is None) == (name == "components")
    np.testing.assert_allclose(posterior.mean(WHERE), mean, rtol=1e-6)
    np.testing.assert_allclose(posterior.std(WHERE), std, rtol=1e-6)


def test_the_settings_of_former_files_come_along() -> None:
    components = bktf.load(former_file("components"))
    assert tuple(components.spec.lengths) == (60, 50, 2)
    assert components.spec.noise_std == 0.1
    assert components.spec.log == [False, True, False]
    assert components.noise_std == pytest.approx(0.1)
    assert tuple(bktf.load(former_file("process")).spec.lengths) == (30, 24, 2)
    assert tuple(bktf.load(former_file("both")).spec.lengths) == (30, 24, 1)


@pytest.mark.parametrize("flag", ["adapt_rank", "offsets", "shared_lengthscales"])
def test_the_flags_of_former_files_come_along(flag: str, tmp_path: Path) -> None:
    with np.load(former_file("components")) as file:
        settings = json.loads(str(file["settings"]))
    settings["settings"][flag] = True
    settings["priors"]["local_noise_rate"] = 0.03
    posterior = bktf.load(
        rewritten("components", tmp_path / "flag.npz", settings=np.array(json.dumps(settings)))
    )
    assert getattr(posterior.spec, flag)
    assert posterior.priors == bktf.Priors(process_noise_rate=0.03)


@pytest.mark.parametrize("name", RECORDED)
def test_a_former_file_is_saved_in_the_new_format_and_left_out(name: str, tmp_path: Path) -> None:
    posterior = bktf.load(former_file(name))
    posterior.save(tmp_path / "again.npz")
    again = bktf.load(tmp_path / "again.npz")
    for ask in ("mean", "std", "draws_at"):
        np.testing.assert_array_equal(getattr(again, ask)(WHERE), getattr(posterior, ask)(WHERE))
    left, left_again = (
        bktf.leave_one_out(posterior, index=[0]),
        bktf.leave_one_out(again, index=[0]),
    )
    assert np.isfinite(left.mean).all()
    np.testing.assert_array_equal(left_again.mean, left.mean)


def test_a_former_fit_with_components_is_a_warm_start() -> None:
    for name in ("components", "both"):
        former = bktf.load(former_file(name))
        settings: dict[str, Any] = {
            "rank": former.rank,
            "kernel": [axis.kernel for axis in former.grid],
            "log": former.spec.log,
        }
        settings |= {
            "residual_process": name == "both",
            "n_sweeps": 3,
            "n_burn_in": 1,
            "seed": seeded(0),
        }
        warm = bktf.fit(former.axes, former.X, former.y, warm_start=former, **settings)
        cold = bktf.fit(former.axes, former.X, former.y, **settings)
        assert np.isfinite(warm.mean(WHERE)).all()
        assert not np.array_equal(warm.mean(WHERE), cold.mean(WHERE))


def test_a_file_from_before_the_offsets_is_read_as_without(tmp_path: Path) -> None:
    """Format 1: neither offsets nor prior variances of the weights, which were those of the priors."""
    with np.load(former_file("components")) as file:
        settings = json.loads(str(file["settings"])) | {"format": 1}
        former = file["weights"].shape
    del settings["log"]
    path = rewritten(
        "components",
        tmp_path / "old.npz",
        settings=np.array(json.dumps(settings)),
        offsets=None,
        weight_vars=None,
    )
    draws = bktf.load(path).draws.components
    np.testing.assert_array_equal(draws.weight_vars, np.ones(former))
    assert not draws.offsets.any()
    assert [axis.log for axis in draws.axes] == [False] * 3


@pytest.mark.parametrize("name", ["process", "both"])
def test_a_file_from_before_the_constant_share_is_read_as_without(
    name: str, tmp_path: Path
) -> None:
    with np.load(former_file(name)) as file:
        logs = file["local_logs"]
    old = bktf.load(rewritten(name, tmp_path / "old.npz", local_logs=logs[:, :-1]))
    without = np.column_stack((logs[:, :-1], np.full(len(logs), -math.inf)))
    assert old.draws.process is not None
    np.testing.assert_array_equal(old.draws.process.logs, without)
    assert not old.draws.process.shares.any()
    assert np.isfinite(old.mean(WHERE)).all()
    assert np.isfinite(old.std(WHERE)).all()
    assert np.abs(old.mean(WHERE) - bktf.load(former_file(name)).mean(WHERE)).max() > 1e-6
    if name == "both":  # a warm start begins with a share from the prior
        warm = bktf.fit(
            old.axes, old.X, old.y, seed=seeded(0), rank=1, residual_process=True, kernel=[axis.kernel for axis in old.grid],
            n_sweeps=20, n_burn_in=10, warm_start=old,
        )  # fmt: skip
        assert warm.draws.process is not None
        assert np.isfinite(warm.draws.process.logs).all()


@pytest.mark.parametrize("name", ["process", "both"])
def test_a_file_with_too_few_parameters_is_damaged(name: str, tmp_path: Path) -> None:
    with np.load(former_file(name)) as file:
        logs = file["local_logs"]
    with pytest.raises(ValueError, match=r"is damaged: .*process_logs has shape"):
        bktf.load(rewritten(name, tmp_path / "damaged.npz", local_logs=logs[:, :2]))


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = rewritten(
        "process", tmp_path / "later.npz", settings=np.array(json.dumps({"format": 4}))
    )
    with pytest.raises(ValueError, match="has file format 4; this version reads 1 to 3"):
        bktf.load(path)
