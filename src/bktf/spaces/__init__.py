"""Search spaces: what users write, coordinates on axes, and which points are feasible."""

from bktf.spaces.parameters import choices

__all__ = ["choices"]
