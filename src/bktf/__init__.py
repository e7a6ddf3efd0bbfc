"""Bayesian optimisation of expensive functions with Bayesian kernelized tensor factorization."""

from bktf import acquisition
from bktf.fitting import fit
from bktf.model import Periodic, Priors
from bktf.posterior import GridMoments, Posterior
from bktf.validation import LeaveOneOut, leave_one_out
from bktf.version import __version__

load = Posterior.load

__all__ = ["GridMoments", "LeaveOneOut", "Periodic", "Posterior", "Priors", "__version__", "acquisition", "fit", "leave_one_out", "load"]
