"""What every method of the comparison must do, whichever package it comes from."""

from seeds import seeded
from studies.methods.other_packages import PEERS
from studies.problems.comparison_problems import CONTESTS, start_points


def check_answers(method: str, problem: str) -> None:
    """Told the start, a method answers twice, each time with a point of the space."""
    contest = CONTESTS[problem]
    player = PEERS[method].make(contest, seeded(0))
    for point in start_points(contest, seeded(0)):
        player.tell(point, contest.function(point))
    for _ in range(2):
        asked = player.ask()
        assert asked.keys() == contest.space.keys()
        for key, distribution in contest.space.items():
            assert distribution._contains(distribution.to_internal_repr(asked[key]))
        player.tell(asked, contest.function(asked))
