# ruff: noqa: E501
"""Imports go down only: each room may use the rooms before it, never those after."""

import ast
from pathlib import Path

from conftest import ROOT

ROOMS = [
    "engine", "analysis", "surrogate", "components", "gaussian_process", "axis_kernels", "product_forms", "_compiled", "version", "_checks", "_compiled.numba_options", "_compiled.cholesky", "_compiled.slice_sampling", "_compiled.vector_loops", "axis_kernels.state_space", "axis_kernels.matern32", "axis_kernels.dense", "axis_kernels.categorical", "axis_kernels.gaps", "gaussian_process.covariance", "gaussian_process.parameter_updates",
    "axis_kernels.operations", "components.chain_state", "components.conjugate_updates", "components.gibbs", "product_forms.cp_tensors", "components.alignment", "surrogate.diagnostics", "surrogate.npz_file", "axis_kernels.kernel_choice", "surrogate.priors", "axis_kernels.axes", "surrogate.standardisation", "components.chains",
    "product_forms.hull", "product_forms.cp_forms", "product_forms.best_first_maximum", "acquisition.cell_scores", "gaussian_process.process_draws", "acquisition.process_scores", "acquisition.gradient_search", "spaces.axis_refinement", "acquisition.restricted_search", "acquisition.grid_choice",
    "acquisition.choice", "acquisition", "acquisition.improvement", "surrogate.posterior_file", "surrogate.posterior", "surrogate.fitting", "analysis.leave_one_out", "integrations.arviz", "integrations", "warmup",
    "test_functions",
    "spaces.parameters", "spaces", "spaces.feasible_points", "engine.history", "optuna_sampler.pruned_trials", "optuna_sampler.trials", "engine.settings", "surrogate.warping", "engine.outliers", "engine.subset", "engine.model_choice", "engine.start_design", "engine.suggestion",
    "optuna_sampler.sampler", "optuna_sampler", "integrations.sklearn", "integrations.botorch", "optimize", "demo",
    "lab.space_file", "lab.results_table", "lab.slices", "lab.slice_plot", "lab.suggest", "lab",
    "cli", "",
]  # fmt: skip
PACKAGE = ROOT / "src" / "bktf"


def room_of(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return name.removesuffix("__init__").rstrip(".")


def imported_rooms(path: Path) -> set[str]:
    """Rooms imported at the top level of a module; an import inside a function is an optional extra's."""
    rooms = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "bktf":
            package = node.module.removeprefix("bktf").removeprefix(".")
            named = {f"{package}.{alias.name}".lstrip(".") for alias in node.names} & set(ROOMS)
            rooms |= named or {package}
    return rooms


def test_every_file_is_a_room_in_the_list() -> None:
    assert {room_of(path) for path in PACKAGE.rglob("*.py")} == set(ROOMS)


def test_imports_go_down_only() -> None:
    for path in PACKAGE.rglob("*.py"):
        here = ROOMS.index(room_of(path))
        for other in imported_rooms(path):
            assert ROOMS.index(other) < here, f"{path.name} imports {other}, which stands above it"


def test_the_core_import_pulls_in_nothing_heavy() -> None:
    import subprocess
    import sys

    heavy = ["scipy.stats", "scipy.optimize", "scipy.spatial", "scipy.special", "optuna", "matplotlib", "pandas", "torch", "arviz", "tqdm"]
    code = f"import sys, bktf; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
