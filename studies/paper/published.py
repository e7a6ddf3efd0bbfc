"""Figures of the paper (Lei & Sun, 2023), printed with ours as a reference, not as a target."""

# A run that does not find the optimum counts as its budget plus this many evaluations.
BUDGET_OF_FAILURE = 100

# Error against the optimum, mean and standard deviation of ten runs, and area under the
# performance profile (table 2).
_COLUMNS = ("gp-ei", "gp-ucb", "gpgrid-ei", "gpgrid-ucb", "bktf-max")
_ROWS = {
    "branin": [
        (0.01, 0.01, 37.7),
        (0.01, 0.01, 37.7),
        (0.31, 0.62, 47.8),
        (0.24, 0.64, 49.2),
        (0.0, 0.0, 50.5),
    ],
    "damavandi": [
        (2.0, 0.0, 17.6),
        (2.0, 0.0, 17.6),
        (1.6, 0.8, 24.2),
        (2.0, 0.0, 17.6),
        (0.0, 0.0, 50.6),
    ],
    "schaffer": [
        (0.02, 0.02, 44.9),
        (0.02, 0.02, 43.1),
        (0.1, 0.15, 38.3),
        (0.09, 0.07, 38.0),
        (0.0, 0.0, 49.6),
    ],
    "griewank3": [
        (0.14, 0.14, 48.9),
        (0.25, 0.1, 47.7),
        (0.23, 0.13, 47.7),
        (0.22, 0.12, 47.7),
        (0.0, 0.0, 50.8),
    ],
    "griewank4": [
        (0.1, 0.07, 79.5),
        (0.19, 0.12, 77.8),
        (0.38, 0.19, 77.8),
        (0.27, 0.17, 77.8),
        (0.0, 0.0, 80.5),
    ],
    "hartmann6": [
        (0.12, 0.07, 78.0),
        (0.07, 0.07, 78.0),
        (0.7, 0.7, 79.1),
        (0.79, 0.61, 78.9),
        (0.0, 0.0, 80.7),
    ],
}
FUNCTIONS = {problem: dict(zip(_COLUMNS, row, strict=True)) for problem, row in _ROWS.items()}
OVERALL_AREA = {
    "gp-ei": 70.3,
    "gp-ucb": 69.53,
    "gpgrid-ei": 71.3,
    "gpgrid-ucb": 70.4,
    "bktf-max": 80.5,
}

# Final accuracy in per cent (digits) and mean squared error (Boston), mean and standard deviation
# of ten runs (table 3).
TUNING: dict[str, dict[str, tuple[float, float]]] = {
    "rf-classifier": {
        "gp-ei": (94.12, 0.16),
        "gp-ucb": (94.07, 0.19),
        "tpe": (94.14, 0.2),
        "bktf-max": (94.44, 0.15),
    },
    "rf-regressor": {
        "gp-ei": (26.19, 0.45),
        "gp-ucb": (26.29, 0.35),
        "tpe": (26.27, 0.31),
        "bktf-max": (25.03, 0.18),
    },
    "nn-classifier-leaky": {
        "gp-ei": (99.96, 0.03),
        "gp-ucb": (99.99, 0.02),
        "tpe": (99.96, 0.02),
        "bktf-max": (100.0, 0.0),
    },
    "nn-regressor-leaky": {
        "gp-ei": (38.46, 3.31),
        "gp-ucb": (36.78, 1.91),
        "tpe": (36.4, 4.72),
        "bktf-max": (30.84, 1.13),
    },
}
