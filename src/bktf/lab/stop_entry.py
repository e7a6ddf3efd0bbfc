"""`[stop]` of a space file, and what `bktf suggest` says of being done."""

from typing import Any

from bktf.analysis import Convergence, Optimum, StopRule, convergence, optimum
from bktf.lab.lab_space import LabError
from bktf.lab.toml_entries import check_names, read_number
from bktf.surrogate import Posterior

MIN_RESULTS = 3  # without which nothing is said of the optimum
ASK = 'to be told when to stop, add [stop] with "tolerance" to the space file'


def read_stop(entry: dict[str, Any]) -> StopRule:
    """When to stop: a tolerance and a confidence, or the cost of an experiment."""
    check_names(entry, {"tolerance", "confidence", "cost"}, "[stop]")
    given = {name: read_number(entry, name, "[stop]") for name in entry}
    if ("tolerance" in given) == ("cost" in given):
        found = " and ".join(given) or "nothing"
        raise LabError(f'[stop] needs either "tolerance" or "cost"; it has {found}')
    try:
        return StopRule(**given)
    except ValueError as error:
        raise LabError(f"[stop] {error}") from None


def look_whether_done(
    posterior: Posterior, rule: StopRule | None
) -> tuple[Optimum | None, Convergence | None]:
    """What is known of the optimum, and of a rule to stop by; nothing with too few results."""
    if len(posterior.y) < MIN_RESULTS:
        return None, None
    try:
        found = optimum(posterior)
    except ValueError:  # nothing, or hardly anything, may be suggested; the notes say so
        return None, None
    return found, None if rule is None else convergence(posterior, rule, found=found)


def done_line(found: Optimum | None, done: Convergence | None) -> list[str]:
    """The line of `bktf suggest` about being done."""
    if done is not None:
        return [str(done)]
    if found is None or not found.best:
        return []
    return [f"the best tried point may be improved by about {found.typical_gap:.2g}; {ASK}"]


def done_json(found: Optimum | None, done: Convergence | None) -> dict[str, Any] | None:
    """The same for programs."""
    if found is None:
        return None
    gap = found.typical_gap if found.best else None
    record: dict[str, Any] = {"gap": gap, "best": found.best}
    if done is not None:
        record |= {
            "converged": done.is_reached,
            "probability": done.probability,
            "expected_improvement": done.expected_improvement,
        }
    return record
