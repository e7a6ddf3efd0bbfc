"""Search spaces: what users write, coordinates on axes, and which points are feasible."""
