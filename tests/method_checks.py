"""What every method of the comparison must do, whichever package it comes from."""

from seeds import seeded
from studies.methods import COMPARISON_METHODS
from studies.problems import COMPARISON_PROBLEMS


def check_answers(name: str, problem_name: str) -> None:
    """Told the start, a method answers twice, each time with a point of the space."""
    problem = COMPARISON_PROBLEMS[problem_name]
    method = COMPARISON_METHODS[name].make(problem, seeded(0), {})
    for point in problem.start_points(seeded(0)):
        method.tell(point, problem.function(point))
    for _ in range(2):
        asked = method.ask()
        assert asked.keys() == problem.space.keys()
        for key, distribution in problem.space.items():
            assert distribution._contains(distribution.to_internal_repr(asked[key]))
        assert problem.nearest(asked) == asked
        method.tell(asked, problem.function(asked))
