"""BKTFModel inside the real BoTorch."""

import itertools
import math

import numpy as np
import pytest
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement, qUpperConfidenceBound
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler

import bktf
from bktf.integrations.botorch import BKTFModel


@pytest.fixture(scope="module")
def posterior() -> bktf.Posterior:
    rng = np.random.default_rng(0)
    axes = [np.linspace(0, 1, 9)] * 2
    X = rng.choice(axes[0], (14, 2))
    return bktf.fit(
        axes,
        X,
        -((X[:, 0] - 0.6) ** 2) - (X[:, 1] - 0.3) ** 2,
        seed=0,
        n_chains=2,
        n_sweeps=150,
        n_burn_in=118,
    )


def candidates(posterior: bktf.Posterior) -> torch.Tensor:
    return torch.tensor(list(itertools.product(*posterior.axes)), dtype=torch.double)


def test_the_mixture_has_the_moments_of_the_posterior(posterior: bktf.Posterior) -> None:
    points = torch.tensor([[0.0, 0.5], [0.33, 0.71], [1.0, 0.25]], dtype=torch.double)
    mixture = BKTFModel(posterior).posterior(points)
    np.testing.assert_allclose(
        mixture.mixture_mean.squeeze().numpy(), posterior.mean(points.numpy()), rtol=1e-6
    )
    np.testing.assert_allclose(
        mixture.mixture_variance.sqrt().squeeze().numpy(), posterior.std(points.numpy()), rtol=1e-3
    )
    noisy = BKTFModel(posterior).posterior(points, observation_noise=True)
    assert torch.all(noisy.mixture_variance > mixture.mixture_variance)
    assert BKTFModel(posterior).posterior(points.reshape(1, 3, 2).expand(5, 3, 2)).mean.shape == (
        5,
        64,
        3,
        1,
    )


def test_noisy_expected_improvement_picks_what_our_own_picks(posterior: bktf.Posterior) -> None:
    model = BKTFModel(posterior)
    sampler = SobolQMCNormalSampler(torch.Size([32]), seed=0)
    function = qLogNoisyExpectedImprovement(
        model, torch.as_tensor(posterior.X), sampler=sampler, prune_baseline=False, cache_root=False
    )
    chosen, value = optimize_acqf_discrete(function, q=1, choices=candidates(posterior))
    assert torch.isfinite(value).all()
    scores = function(candidates(posterior)[:, None])
    best = posterior.mean(posterior.X).max()
    ours = np.maximum(posterior.draws_at(candidates(posterior).numpy()) - best, 0).mean(axis=0)
    near = int((candidates(posterior) - chosen).abs().sum(-1).argmin())
    assert ours[near] >= np.quantile(ours, 0.9)
    assert np.corrcoef(scores.exp().detach().numpy(), ours)[0, 1] > 0.8


def test_a_batch_and_other_acquisitions_and_transforms_work(posterior: bktf.Posterior) -> None:
    model = BKTFModel(posterior, n_draws=16)
    assert model.batch_shape == torch.Size([16])
    assert model.num_outputs == 1
    function = qUpperConfidenceBound(
        model, beta=4.0, sampler=SobolQMCNormalSampler(torch.Size([16]), seed=0)
    )
    chosen, _ = optimize_acqf_discrete(function, q=3, choices=candidates(posterior), unique=True)
    assert len({tuple(row) for row in chosen.tolist()}) == 3
    negative = ScalarizedPosteriorTransform(weights=torch.tensor([-1.0], dtype=torch.double))
    lower = qLogNoisyExpectedImprovement(
        model, torch.as_tensor(posterior.X), posterior_transform=negative, prune_baseline=False, cache_root=False
    )  # fmt: skip
    worst, _ = optimize_acqf_discrete(lower, q=1, choices=candidates(posterior))
    assert posterior.mean(worst.numpy())[0] < np.median(posterior.y)


def test_what_makes_no_sense_is_refused(posterior: bktf.Posterior) -> None:
    with pytest.raises(ValueError, match=r"n_draws must lie in \[1, 64\]"):
        BKTFModel(posterior, n_draws=0)
    with pytest.raises(ValueError, match="one output"):
        BKTFModel(posterior).posterior(torch.zeros(1, 2), output_indices=[1])


def test_points_of_a_process_move_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((10, 2))
    process = bktf.fit(
        [np.linspace(0, 1, 5)] * 2, X, X.sum(axis=1), seed=0, rank=math.inf, n_sweeps=8, n_burn_in=4
    )
    points = torch.tensor(
        [[[0.2, 0.3], [0.21, 0.3]], [[0.9, 0.1], [0.1, 0.9]]], dtype=torch.float64
    )
    found = BKTFModel(process).posterior(points).distribution.covariance_matrix  # (2, K, 2, 2)
    for batch, each in zip(points, found, strict=True):
        np.testing.assert_allclose(
            each.numpy(), process.covariances_by_draw(batch.numpy()), rtol=1e-5, atol=1e-6
        )  # a floor on the diagonal
