"""Where the tests' random numbers begin: every seed of the suite is moved at once, `BKTF_TEST_SEED=1 make test`."""

import os

OFFSET = 1000 * int(os.environ.get("BKTF_TEST_SEED", "0"))


def seeded(n: int = 0) -> int:
    """The seed that a test calls n; another one for every value of BKTF_TEST_SEED."""
    return n + OFFSET
