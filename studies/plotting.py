"""What the figures of both studies share: Matplotlib without a window, and files."""

from pathlib import Path
from typing import Any

DPI = 110


def pyplot() -> Any:
    """Matplotlib's pyplot, drawing to files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_figure(figure: Any, path: Path) -> Path:
    """Write a figure and close it; no program version in the file, so equal figures are equal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    pyplot().close(figure)
    return path
