"""The prior-preservation tests fail when a bug is put in by hand: a test that cannot fail proves nothing."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.bugs

ROOT = Path(__file__).resolve().parents[2]
LEVEL = 5e-5  # as in test_prior_preservation

PROCESS = (
    "two sweeps at infinite rank"  # the update of `process_preservation`, with a setup of its own
)
ELLIPTICAL = "two elliptical updates"  # of the same setup
ON_AXIS = """    lengthscale = update_on_axis(
        problem, state, d, lengthscale, log_var, directions, precisions, targets, drawn, rng
    )
"""

PLACES = "    for index in range(n_logs + (0 if noise_known else 1)):\n"
FRESH_NOISE = """    trial[n_logs] = math.log(rng.standard_gamma(noise_shape) / noise_rate)
    current = log_evidence(product, math.exp(trial[n_dims]), math.exp(-trial[n_logs]), residual, C, solved)
    for index in range(n_logs):
"""

# name: (file, [(what stands there, what the bug makes of it)], update that shows it, setup that
# shows it)
BUGS = {
    "a gain that forgets the other factors, drawn together": (
        "axis_kernels/matern32_block.py",
        [("            total += direction[k] * (P[2 * k, h] if k < h // 2 else P[h, 2 * k])",
          "            total += direction[k] * (P[2 * k, h] if k == h // 2 else 0.0)")],
        "joint sweeps", {},
    ),
    "no noise in the simulated observations, drawn together": (
        "axis_kernels/matern32_block.py",
        [("targets[j, k] - rng.standard_normal() / math.sqrt(precisions[j, k])", "targets[j, k]")],
        "joint sweeps", {},
    ),
    "offsets counted twice, drawn together": (
        "components/joint_updates.py",
        [("targets[j, k] -= directions[j, k, h] * state.offsets[members[h], d]", "targets[j, k] -= 0.0")],
        "joint sweeps", {"offsets": True},
    ),
    "the noise prior as if the likelihood had no power": (
        "components/gibbs.py",
        [("problem.noise_shape + 0.5 * (power - 1.0) * problem.values.size", "problem.noise_shape")],
        "two sweeps", {"power": 0.4},
    ),
    "one weight counts twice for the size": (
        "components/conjugate_updates.py",
        [("    squares = inner(state.weights[:n_components], state.weights[:n_components])",
          "    squares = inner(state.weights[:n_components], state.weights[:n_components]) + state.weights[0] ** 2")],
        "two sweeps", {"comparable": True},
    ),
    "the noise's rate not divided by the power": (
        "components/gibbs.py", [("problem.noise_rate / power", "problem.noise_rate")], "two sweeps", {"power": 0.4},
    ),
    "noise precision counted twice in the evidence": (
        "components/gibbs.py",
        [(ON_AXIS, "    lengthscale = update_on_axis(problem, state, d, lengthscale, log_var, directions, "
          "precisions * state.noise_precision[0], targets, drawn, rng)\n" + ON_AXIS.replace("log_var", "0.0"))],
        "axes", {},
    ),
    "weight left out of the sensitivities": (
        "components/gibbs.py",
        [("state.weights[first],", "1.0,")], "axes", {},
    ),
    "n for n/2 in the noise update": (
        "components/conjugate_updates.py",
        [("noise_shape + 0.5 * residual.size", "noise_shape + 1.0 * residual.size")],
        "noise", {},
    ),
    "wrong sign of the log determinant": (
        "axis_kernels/matern32_filter.py",
        [("-0.5 * (log_ratios + math.log(ratio_product) + squares)", "-0.5 * (squares - log_ratios - math.log(ratio_product))")],
        "axes", {},
    ),
    "wrong sign of the log determinant, shared length-scales": (
        "axis_kernels/state_space.py",
        [("-0.5 * (math.log(precision * D_joint[0]) +", "-0.5 * (-math.log(precision * D_joint[0]) +")],
        "axes", {"shared": True},
    ),
    "wrong sign of the log determinant, dense path": (
        "axis_kernels/dense.py",
        [("return -0.5 * (log_det + squares)", "return -0.5 * (squares - log_det)")],
        "axes", {"kernel": "squared_exponential"},
    ),
    "residual not updated after a component": (
        "components/gibbs.py",
        [("copy_into(work.remainder, state.residual)", "pass"),
         ("        add_multiple(state.residual, -state.weights[c], state.products[c])", "        pass")],
        "two sweeps", {},
    ),
    "noise precision counted twice in the evidence, shared length-scales": (
        "components/gibbs.py",
        [(ON_AXIS, "    lengthscale = update_on_axis(problem, state, d, lengthscale, log_var, directions, "
          "precisions * state.noise_precision[0], targets, drawn, rng)\n" + ON_AXIS.replace("log_var", "0.0"))],
        "axes", {"shared": True},
    ),
    "weight left out of the sensitivities, shared length-scales": (
        "components/gibbs.py",
        [("            state.weights[members[k]],\n", "            1.0,\n")], "axes", {"shared": True},
    ),
    "factor drawn from the prior": (
        "components/gibbs.py",
        [(ON_AXIS, ON_AXIS + "    update_on_axis(problem, state, d, lengthscale, 0.0, directions, 0.0 * precisions, targets, "
          "drawn, rng)\n")],
        "axes", {},
    ),
    "length-scale drawn from the prior": (
        "components/gibbs.py",
        [(ON_AXIS, "    lengthscale = draw_prior_lengthscale(problem, d, rng)\n" + ON_AXIS.replace("log_var", "0.0"))],
        "two sweeps", {},
    ),
    "weights drawn from the prior": (
        "components/conjugate_updates.py",
        [("inner(products[c], products[h])", "0.0"), ("inner(products[c], values)", "0.0")],
        "weights", {},
    ),
    "wrong sign of the log determinant, unordered levels": (
        "axis_kernels/categorical.py",
        [("-0.5 * (log_det + math.log(precision) + squares)", "-0.5 * (squares - log_det - math.log(precision))")],
        "axes", {"kernel": "categorical"},
    ),
    "one degree of freedom too few for the covariance between levels": (
        "axis_kernels/categorical.py",
        [("            dof += 1\n", "            pass\n")], "covariances", {"kernel": "wishart"},
    ),
    "covariance between levels ignores the factors": (
        "axis_kernels/categorical.py",
        [("factors[c, start + i, 0] * factors[c, start + j, 0]", "0.5")], "two sweeps", {"kernel": "wishart"},
    ),
    "shrinkage ignores half of the weights' squares": (
        "components/conjugate_updates.py",
        [("rate = 1.0 + 0.5 * squares", "rate = 1.0 + 0.25 * squares")], "shrinkage", {"adapt_rank": True},
    ),
    "shrinkage counts one weight too many": (
        "components/conjugate_updates.py",
        [("shrinkage_shape(problem, c) + 0.5 * n_after", "shrinkage_shape(problem, c) + 0.5 * (n_after + 1)")],
        "shrinkage", {"adapt_rank": True},
    ),
    "offset not taken off the targets": (
        "components/conjugate_updates.py",
        [("        targets[j, 0] -= offset\n", "        pass\n")], "axes", {"offsets": True},
    ),
    "offset drawn without its prior's mean": (
        "components/conjugate_updates.py",
        [("information = problem.offset_mean / problem.offset_var", "information = 0.0")], "axes", {"offsets": True},
    ),
    "wrong sign of the log determinant, infinite rank": (
        "gaussian_process/parameter_updates.py",
        [("-0.5 * (log_det + inner(solved, solved))", "-0.5 * (inner(solved, solved) - log_det)")],
        PROCESS, {},
    ),
    "the constant share is left out of trials, infinite rank": (
        "gaussian_process/parameter_updates.py",
        [("multiply_axis(proposed, on_levels[index], share, out)", "multiply_axis(proposed, on_levels[index], 0.0, out)")],
        PROCESS, {},
    ),
    "values of the process drawn with half of the noise": (
        "gaussian_process/parameter_updates.py",
        [("scaled = noise_precision * G[i, a]", "scaled = 2.0 * noise_precision * G[i, a]")],
        PROCESS, {},
    ),
    "noise of the process drawn from the prior": (
        "gaussian_process/parameter_updates.py",
        [(PLACES, FRESH_NOISE)],
        PROCESS, {},
    ),
    "the sampler of the process sees half of the values": (
        "gaussian_process/compiled_process.py",
        [("problem.values, logs, noise_precision, rng,", "0.5 * problem.values, logs, noise_precision, rng,")],
        PROCESS, {},
    ),
    "the slice of an elliptical update starts from the density alone": (
        "gaussian_process/elliptical_chain.py",
        [("laplace.spread @ z) + 0.5 * float(z @ z)", "laplace.spread @ z)")], ELLIPTICAL, {},
    ),
    "an elliptical update always accepts": (
        "gaussian_process/elliptical_chain.py",
        [("if ratio > level:", "if ratio > -math.inf:")], ELLIPTICAL, {},
    ),
    "the density of parameters leaves out the log determinant": (
        "gaussian_process/log_posterior.py",
        [("-0.5 * (log_det + float(values @ alpha))", "-0.5 * float(values @ alpha)")], ELLIPTICAL, {},
    ),
    "weights beside the residual process drawn without their prior": (
        "components/noise_and_weight_updates.py",
        [("precision[c, c] += 1.0 / weight_vars[c]", "precision[c, c] += 1e-9")], "two sweeps", {"residual_process": True},
    ),
    "noise drawn from the prior": (
        "components/conjugate_updates.py",
        [("shape = noise_shape + 0.5 * residual.size", "shape = noise_shape"), ("0.5 * squares)", "0.0 * squares)")],
        "noise", {},
    ),
}  # fmt: skip

SCRIPT = """
import json, sys
from prior_preservation import UPDATES, corrected, make_setup, p_values
from process_preservation import make_process_setup, p_values_of_process
update, setup = json.loads(sys.argv[1])
if update in UPDATES:
    p = p_values(make_setup(**setup), update, 6000, 1)
elif update.startswith("two elliptical"):
    p = p_values_of_process(make_process_setup(**setup), 2000, 1, elliptical=True)
else:
    p = p_values_of_process(make_process_setup(**setup), 6000, 1)
p.pop("bookkeeping")
print(json.dumps(corrected(p)))
"""


def corrected_p_value(bug: str, folder: Path) -> tuple[float, str]:
    """Copy the package, put the bug in, and run the statistics that should notice."""
    file, edits, update, setup = BUGS[bug]
    shutil.copytree(
        ROOT / "src" / "bktf", folder / "bktf", ignore=shutil.ignore_patterns("__pycache__")
    )
    source = (folder / "bktf" / file).read_text()
    for old, new in edits:
        assert source.count(old) == 1, f"{bug}: {old!r} stands {source.count(old)} times in {file}"
        source = source.replace(old, new)
    (folder / "bktf" / file).write_text(source)
    path = os.pathsep.join([str(folder), str(ROOT / "tests"), str(ROOT / "tests" / "statistical")])
    environment = os.environ | {
        "PYTHONPATH": path,
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", SCRIPT, json.dumps([update, setup])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    value, name = json.loads(done.stdout)
    return float(value), str(name)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, str]]:
    folders = {bug: tmp_path_factory.mktemp("bug") for bug in BUGS}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(
            zip(BUGS, pool.map(lambda bug: corrected_p_value(bug, folders[bug]), BUGS), strict=True)
        )


@pytest.mark.parametrize("bug", list(BUGS))
def test_the_prior_preservation_test_notices(
    bug: str, outcomes: dict[str, tuple[float, str]]
) -> None:
    value, name = outcomes[bug]
    print(f"{bug}: {name}, p = {value:.1e}")
    assert value < LEVEL
