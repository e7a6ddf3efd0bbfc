"""`BKTFModel`: a posterior as a BoTorch model.

Needs the extra bktf[botorch] (and torch, whose CPU build should be installed first).
"""

from typing import Any

import torch
from botorch.models.model import Model
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal

from bktf._checks import whole_number
from bktf.surrogate import Posterior

# Share of the variance of y that every draw keeps, so that covariances can be factorised.
MIN_VARIANCE = 1e-6


class BKTFModel(Model):  # type: ignore[misc]
    """The K draws of a fit as an ensemble.

    At points of the axes each draw has a value, between them a mean and a small variance. Between
    axis points, factors are independent given a draw; a process is joint over the q points.

    Works with Monte-Carlo acquisition functions, as qLogNoisyExpectedImprovement, and
    `optimize_acqf_discrete`. BoTorch maximises: fit to values where larger is better. There are no
    gradients, so gradient-based `optimize_acqf` does not apply. There is no conditioning on new
    data: refit.

    Args:
        posterior: a `bktf.Posterior`.
        n_draws: number of its draws to use, evenly spaced; by default all.
    """

    _is_fully_bayesian = True
    _is_ensemble = True

    def __init__(self, posterior: Posterior, n_draws: int | None = None) -> None:
        super().__init__()
        count = posterior.n_draws if n_draws is None else whole_number("n_draws", n_draws, 0)
        if not 1 <= count <= posterior.n_draws:
            wanted = f"n_draws must lie in [1, {posterior.n_draws}], the draws of the posterior"
            raise ValueError(f"{wanted}; got {n_draws!r}")
        self._posterior = posterior
        self._chosen = torch.linspace(0, posterior.n_draws - 1, count).round().long().tolist()
        self._min_variance = MIN_VARIANCE * float(posterior.standardisation.scale) ** 2

    @property
    def num_outputs(self) -> int:
        """One objective."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """The draws are a batch."""
        return torch.Size([len(self._chosen)])

    def subset_output(self, idcs: list[int]) -> "BKTFModel":
        """The model of some of its outputs, of which it has one."""
        if list(idcs) != [0]:
            raise ValueError(f"this model has one output, number 0; got {idcs!r}")
        return self

    @property
    def train_inputs(self) -> tuple[torch.Tensor]:
        """The points that were observed, (n, D)."""
        return (torch.as_tensor(self._posterior.X),)

    @property
    def train_targets(self) -> torch.Tensor:
        """The values that were observed, (n,)."""
        return torch.as_tensor(self._posterior.y)

    def posterior(
        self,
        X: torch.Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | torch.Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """The distribution of f at points X (… × q × D), a mixture over draws (… × K × q × 1)."""
        if output_indices not in (None, [0]):
            given = f"output_indices={output_indices!r}"
            raise ValueError(f"this model has one output, number 0; got {given}")
        flat = X.detach().reshape(-1, X.shape[-1]).cpu().double().numpy()
        mean, variance = self._posterior.moments_by_draw(flat)  # (K, n) each
        shape = (len(self._chosen), *X.shape[:-1])
        means = torch.as_tensor(mean[self._chosen]).reshape(shape).movedim(0, -2).to(X)
        variances = torch.as_tensor(variance[self._chosen]).reshape(shape).movedim(0, -2).to(X)
        variances = variances + self._min_variance
        if isinstance(observation_noise, torch.Tensor):  # the variances of the noise
            variances = variances + observation_noise.squeeze(-1).unsqueeze(-2).to(X)
        elif observation_noise:
            noise = torch.as_tensor(self._posterior.noise_std[self._chosen] ** 2).to(X)
            variances = variances + noise[:, None]
        covariances = torch.diag_embed(variances)
        if self._posterior.draws.process is not None and X.shape[-2] > 1:
            between = self._between(flat, X.shape[-2]).reshape(*covariances.shape)
            covariances = covariances + between.to(X)
        mixture = GaussianMixturePosterior(distribution=MultivariateNormal(means, covariances))
        return mixture if posterior_transform is None else posterior_transform(mixture)

    def _between(self, flat: Any, q: int) -> torch.Tensor:
        """Covariances between the q points of each batch, (batches, K, q, q), zero diagonals.

        They are those within each draw.
        """
        groups = flat.reshape(-1, q, flat.shape[1])
        by_group = [self._posterior.covariances_by_draw(points)[self._chosen] for points in groups]
        covariances = torch.stack([torch.as_tensor(by_draw) for by_draw in by_group])
        return covariances - torch.diag_embed(torch.diagonal(covariances, dim1=-2, dim2=-1))
