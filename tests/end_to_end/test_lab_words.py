"""What `bktf suggest --explain` says: what is known of each parameter, and one set of numbers."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf import lab
from bktf.cli import main
from bktf.engine import Objective
from bktf.lab.lab_space import LabSpace
from bktf.lab.slices import Slice, effect_along, in_words, slices, small_difference
from bktf.lab.space_file import read_lab_space
from seeds import seeded

Floats = NDArray[np.float64]

LIGANDS = [f"ligand-{i:02d}-phosphine" for i in range(12)]
SPACE = f"""
[objective]
name = "yield"
direction = "maximize"
unit = "%"
[parameters.temperature]
type = "float"
low = 20
high = 120
unit = "°C"
[parameters.idle]
type = "float"
low = 0
high = 1
[parameters.ligand]
type = "category"
values = {json.dumps(LIGANDS)}
"""
YIELDS = dict(
    zip(LIGANDS, np.random.default_rng(seeded(5)).permutation(np.linspace(1, 97, 12)), strict=True)
)


def ligand_decides(row: dict[str, Any]) -> float:
    """1 to 97 % by the ligand; little by the temperature, nothing by the idle parameter."""
    return float(YIELDS[row["ligand"]] * (1 - 0.3 * ((row["temperature"] - 80) / 60) ** 2))


def random_rows(
    n: int, seed: int, truth: Callable[[dict[str, Any]], float], ligands: list[str]
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seeded(seed))
    rows = []
    for i in range(n):
        row = {
            "temperature": round(rng.uniform(20, 120), 1),
            "idle": round(rng.uniform(), 3),
            "ligand": ligands[i % len(ligands)],
        }
        rows.append({**row, "yield": round(truth(row) + rng.normal(0, 0.3), 2)})
    return rows


def answered(
    folder: Path, rows: list[dict[str, Any]], q: int = 1, space: str = SPACE
) -> lab.Answer:
    (folder / "space.toml").write_text(space, encoding="utf-8")
    with (folder / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["temperature", "idle", "ligand", "yield"])
        writer.writeheader()
        writer.writerows(rows)
    return lab.answer(folder / "space.toml", folder / "results.csv", q, seeded(0))


def words(found: lab.Answer) -> dict[str, str]:
    """What is said of each parameter around the first suggestion."""
    assert found.posterior is not None
    parts = slices(found.space, found.posterior, found.experiments[0].params)
    return {part.parameter.name: in_words(found.space, part, found.posterior.y) for part in parts}


# --- what is known of a parameter
# --------------------------------------------------------------------------------


@pytest.fixture
def space(tmp_path: Path) -> LabSpace:
    (tmp_path / "space.toml").write_text(SPACE, encoding="utf-8")
    return read_lab_space(tmp_path / "space.toml")


def slice_of(space: LabSpace, mean: Floats, shared: float, own: float) -> Slice:
    """A slice along the ligands whose values are uncertain together (shared) and each by itself (own)."""
    rng = np.random.default_rng(seeded(0))
    draws = mean + shared * rng.standard_normal((2000, 1)) + own * rng.standard_normal((2000, 12))
    parameter = space.parameters[2]
    return Slice(parameter, np.arange(12.0), mean, np.full(12, np.hypot(shared, own)), draws, 3)


LARGER, SMALLER = Objective(direction="maximize"), Objective(direction="minimize")
RESULTS = np.array(
    [1.0, 30.0, 50.0, 60.0, 97.0]
)  # half of the way to the best is 47: below 4.7 nothing matters


def test_what_is_uncertain_is_not_known_yet(space: LabSpace) -> None:
    said = in_words(space, slice_of(space, np.linspace(50, 52, 12), 0.0, 20.0), RESULTS)
    assert said.startswith(
        f"not known yet: {LIGANDS[11]} is expected to be better than {LIGANDS[0]} by 2 ± 2"
    )  # 28 = √2 · 20
    assert "; differences may reach" in said
    nothing = in_words(space, slice_of(space, np.full(12, 50.0), 0.0, 20.0), RESULTS)
    assert nothing.startswith(
        "not known yet: the results say nothing about it; differences may reach"
    )


def test_differences_are_judged_by_their_own_uncertainty_not_by_that_of_the_level(
    space: LabSpace,
) -> None:
    """All values uncertain by 20 together: the differences between them are known all the same."""
    assert small_difference(RESULTS, LARGER) == pytest.approx(4.7)
    assert in_words(space, slice_of(space, np.full(12, 50.0), 20.0, 0.1), RESULTS).startswith(
        "hardly matters here: no two values differ by"
    )
    said = in_words(space, slice_of(space, np.linspace(50, 60, 12), 20.0, 0.5), RESULTS)
    assert said.startswith(f"best expected at {LIGANDS[11]} (60 ± 20), worst at {LIGANDS[0]} (50)")


def test_a_small_effect_that_is_not_known_to_be_small_does_not_hardly_matter(
    space: LabSpace,
) -> None:
    part = slice_of(space, np.full(12, 50.0), 0.0, 3.0)
    assert effect_along(part, LARGER).upper_bound > 4.7
    assert in_words(space, part, RESULTS).startswith("not known yet")


def test_best_and_worst_follow_the_direction(space: LabSpace) -> None:
    part = slice_of(space, np.linspace(0, 90, 12), 1.0, 1.0)
    said = in_words(replace(space, objective=SMALLER), part, RESULTS)
    assert said.startswith(
        f"best expected at {LIGANDS[0]} (0.0 ± 1.4), worst at {LIGANDS[11]} (90.0)"
    )
    assert small_difference(RESULTS, SMALLER) == pytest.approx(4.9)


@pytest.mark.parametrize("seed", range(3))
def test_a_ligand_that_decides_never_hardly_matters_after_8_results(
    tmp_path: Path, seed: int
) -> None:
    """Eight ligands tried once each.

    Half of the draws have a span above 70 where a small effect is below 4.5, whatever the chains
    do.
    """
    rows = random_rows(8, seed, ligand_decides, LIGANDS[4 * (seed % 2) :])
    found = answered(tmp_path, rows)
    assert found.posterior is not None
    said = words(found)["ligand"]
    assert said.startswith(("not known yet: ", "best expected at "))
    part = slices(found.space, found.posterior, found.experiments[0].params)[2]
    assert np.median(np.ptp(part.draws, axis=1)) > 3 * small_difference(found.posterior.y, LARGER)


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_of_ligands_that_were_not_tried_nothing_is_known_yet(tmp_path: Path, seed: int) -> None:
    """One ligand in all eight rows: predictions hardly differ because nothing is known.

    With three seeds of the fit each, the expected difference was at most 0.5 standard deviations,
    where the limit is 1.6; the bound on differences was 50 times the limit of a small effect.
    """
    tried = [LIGANDS[int(np.random.default_rng(seeded(seed)).integers(12))]]
    assert words(answered(tmp_path, random_rows(8, seed, ligand_decides, tried)))[
        "ligand"
    ].startswith("not known yet: ")


def test_with_plenty_of_results_what_matters_and_what_does_not_are_told_apart(
    tmp_path: Path,
) -> None:
    """Three ligands, 45 results, noise 0.3: with eight seeds the bound on the idle parameter was 0.7 to 0.9, the limit is 4.9."""
    chosen = sorted(LIGANDS, key=YIELDS.__getitem__)
    few = [chosen[0], chosen[6], chosen[11]]
    text = SPACE.replace(json.dumps(LIGANDS), json.dumps(few))
    said = words(answered(tmp_path, random_rows(45, 0, ligand_decides, few), space=text))
    assert said["idle"].startswith("hardly matters here: no two values differ by more than ")
    assert said["ligand"].startswith(f"best expected at {chosen[11]} (")
    assert f"worst at {chosen[0]} (" in said["ligand"]
    assert said["temperature"].startswith("best expected at ")


# --- one set of numbers
# ------------------------------------------------------------------------------------------


def normal_excess(mean: Floats, std: Floats) -> Floats:
    from scipy.stats import norm

    z = mean / std
    return np.asarray(mean * norm.cdf(z) + std * norm.pdf(z))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_prediction_uncertainty_and_gain_come_from_one_posterior(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], direction: str
) -> None:
    text = SPACE.replace('"maximize"', f'"{direction}"')
    found = answered(tmp_path, random_rows(12, 1, ligand_decides, LIGANDS[:5]), 3, text)
    posterior, sign = found.posterior, 1.0 if direction == "maximize" else -1.0
    assert posterior is not None
    best = (sign * posterior.y).max()
    points = np.array(
        [
            [p.coordinate(e.params[p.name]) for p in found.space.parameters]
            for e in found.experiments
        ],
        dtype=float,
    )
    mean, variance = posterior.moments_by_draw(points)
    alone = normal_excess(sign * mean - best, np.sqrt(variance)).mean(axis=0)
    gains = [e.expected_improvement for e in found.experiments]
    assert gains[0] == pytest.approx(alone[0], rel=1e-9)
    signed = posterior if direction == "maximize" else posterior.negated()
    for i, experiment in enumerate(found.experiments):
        beyond = signed.expected_improvement(points[i : i + 1], pending=points[:i])[0]
        assert experiment.expected_improvement == pytest.approx(beyond, rel=1e-6)
        assert experiment.predicted == pytest.approx(posterior.mean(points)[i])
        assert experiment.uncertainty == pytest.approx(posterior.std(points)[i])
        assert experiment.expected_improvement is not None
        assert 0 <= experiment.expected_improvement <= alone[i] * (1 + 1e-9)
    assert gains[0] >= max(sign * found.experiments[0].predicted - best, 0.0) - 1e-9  # type: ignore[operator]
    assert (
        main(
            [
                "suggest",
                "--seed",
                str(seeded(0)),
                str(tmp_path / "space.toml"),
                str(tmp_path / "results.csv"),
                "-n",
                "3",
                "--json",
            ]
        )
        == 0
    )
    assert [
        s["expected_improvement"] for s in json.loads(capsys.readouterr().out)["suggestions"]
    ] == pytest.approx(gains)
    lines = [line for line in lab.explain(found) if line.startswith("suggestion ")]
    start = f"on average it improves on the best result ({sign * best:g}) by "
    assert lines[0].endswith(f"{start}{gains[0]:.2g}")
    assert lines[1].endswith(f"{start}{gains[1]:.2g}, beyond what suggestion 1 should bring")
    assert lines[2].endswith(f"{start}{gains[2]:.2g}, beyond what suggestions 1 and 2 should bring")


def test_pending_rows_count_as_the_suggestions_before_do(tmp_path: Path) -> None:
    rows = random_rows(12, 1, ligand_decides, LIGANDS[:5])
    pending = {"temperature": 81.0, "idle": 0.5, "ligand": LIGANDS[2], "yield": ""}
    found = answered(tmp_path, [*rows, pending])
    posterior = found.posterior
    assert posterior is not None
    point, waiting = (
        np.array([[p.coordinate(params[p.name]) for p in found.space.parameters]], dtype=float)
        for params in (found.experiments[0].params, pending)
    )
    assert found.experiments[0].expected_improvement == pytest.approx(
        posterior.expected_improvement(point, pending=waiting)[0], rel=1e-9
    )
    assert lab.explain(found)[1].endswith(", beyond what the pending row should bring")


def test_with_repeats_the_gain_is_counted_from_the_best_expected_value(tmp_path: Path) -> None:
    rows = random_rows(12, 2, ligand_decides, LIGANDS[:5])
    found = answered(
        tmp_path, rows, space=SPACE.replace('unit = "%"', 'unit = "%"\nrepeats = true\nnoise = 5')
    )
    posterior = found.posterior
    assert posterior is not None
    best = float(posterior.mean(posterior.X).max())
    point = np.array(
        [[p.coordinate(found.experiments[0].params[p.name]) for p in found.space.parameters]],
        dtype=float,
    )
    assert found.experiments[0].expected_improvement == pytest.approx(
        posterior.expected_improvement(point, best)[0], rel=1e-9
    )
    assert f"improves on the best value expected of a row ({best:.6g}) by " in lab.explain(found)[1]
