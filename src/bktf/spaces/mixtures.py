"""Mixtures: amounts that sum to a total, some of them perhaps zero.

Random points of a box never sum to a total. So a space with mixtures proposes points that do:
random blends, and neighbours of a blend that move an amount from one component to another. With
steps amounts are whole numbers of steps inside, so that sums are exact up to rounding.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution

from bktf._typing import Floats
from bktf.spaces.parameters import is_multiple, is_number

SLACK = 1e-9  # of the total, by which rounding may miss it


@dataclass(frozen=True)
class Mixture:
    """Amounts of some parameters that sum to a total. See `bktf.mixture`."""

    names: tuple[str, ...]
    total: float
    lows: tuple[float, ...]
    highs: tuple[float, ...]  # with steps a whole number of them above the lows
    step: float | None
    max_nonzero: int

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The distribution of each amount alone."""
        ends = zip(self.names, self.lows, self.highs, strict=True)
        return {name: FloatDistribution(low, high, step=self.step) for name, low, high in ends}

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether amounts by name sum to the total, and few enough are not zero."""
        amounts = [float(values.get(name, 0.0)) for name in self.names]
        slack = SLACK * self.total
        n_nonzero = sum(amount > slack for amount in amounts)
        return abs(sum(amounts) - self.total) <= slack and n_nonzero <= self.max_nonzero


def mixture(
    *names: str,
    total: float = 1.0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    step: float | None = None,
    max_nonzero: int | None = None,
) -> Mixture:
    """Parameters that are amounts of a mixture and sum to a total.

    For the list that a space may be: [bktf.mixture("a", "b", "c"), {"temperature": (20.0, 80.0)}].

    Args:
        names: of the components, two at least.
        total: what the amounts sum to.
        bounds: by name (low, high); by default from 0 to the total.
        step: amounts are low, low + step, low + 2·step, …; by default any number.
        max_nonzero: how many amounts may differ from zero at most; by default all.
    """
    what = f"mixture({', '.join(map(repr, names))})"
    if len(names) < 2 or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{what} needs the names of at least two components")
    if len(set(names)) < len(names):
        raise ValueError(f"{what}: names must differ")
    if not is_number(total) or not total > 0:
        raise ValueError(f"{what}: total must be a positive number; got {total!r}")
    given = dict(bounds or {})
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"{what}: bounds name {unknown[0]!r}, which is no component")
    if step is not None and (not is_number(step) or not step > 0):
        raise ValueError(f"{what}: step must be a positive number, or None; got {step!r}")
    lows, highs = [], []
    for name in names:
        low, high = _bounds_of(what, name, given.get(name, (0.0, total)), float(total))
        if step is not None:
            high = low + step * math.floor((high - low) / step + 1e-9)
        lows.append(low)
        highs.append(high)
    limit = len(names) if max_nonzero is None else max_nonzero
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= len(names):
        raise ValueError(
            f"{what}: max_nonzero must be a whole number from 1 to {len(names)}; got {limit!r}"
        )
    made = Mixture(names, float(total), tuple(lows), tuple(highs), step, limit)
    _check_reached(what, made)
    return made


def _bounds_of(what: str, name: str, given: object, total: float) -> tuple[float, float]:
    """The bounds of one component."""
    is_pair = isinstance(given, tuple | list) and len(given) == 2 and all(map(is_number, given))
    if not is_pair or not 0 <= given[0] <= given[1]:  # type: ignore[index]
        raise ValueError(
            f"{what}: bounds of {name!r} must be (low, high) with 0 ≤ low ≤ high; got {given!r}"
        )
    return float(given[0]), min(float(given[1]), total)  # type: ignore[index]


def _check_reached(what: str, m: Mixture) -> None:
    """Refuse bounds, steps and a number of components with which no blend has the total."""
    lowest = sum(m.lows)
    forced = [i for i, low in enumerate(m.lows) if low > 0]
    if len(forced) > m.max_nonzero:
        raise ValueError(
            f"{what}: {len(forced)} components have a positive lower bound, but at most "
            f"{m.max_nonzero} may differ from zero"
        )
    others = sorted((m.highs[i] for i in range(len(m.names)) if i not in forced), reverse=True)
    highest = sum(m.highs[i] for i in forced) + sum(others[: m.max_nonzero - len(forced)])
    slack = SLACK * m.total
    if lowest > m.total + slack or highest < m.total - slack:
        raise ValueError(
            f"{what}: the bounds exclude the total {m.total:g}; amounts sum to between "
            f"{lowest:g} and {highest:g}"
        )
    if m.step is not None and not is_multiple(m.total - lowest, m.step):
        raise ValueError(
            f"{what}: steps of {m.step:g} cannot reach the total {m.total:g} from the lower "
            f"bounds, which sum to {lowest:g}"
        )


@dataclass(frozen=True, eq=False)
class Blends:
    """Random blends of a mixture and their neighbours, in units of steps where it has them.

    Components may be kept at amounts (`kept`, NaN elsewhere).
    """

    mixture: Mixture
    kept: Floats  # (m,)

    @property
    def _lows(self) -> Floats:
        return np.where(np.isnan(self.kept), self.mixture.lows, self.kept)

    @property
    def _highs(self) -> Floats:
        return np.where(np.isnan(self.kept), self.mixture.highs, self.kept)

    def random(self, rng: np.random.Generator) -> Floats | None:
        """A random blend (m,); None where the kept amounts allow none."""
        m, lows, highs = self.mixture, self._lows, self._highs
        forced = lows > 0
        n_more = m.max_nonzero - int(forced.sum())
        optional = np.flatnonzero(~forced & (highs > 0))
        if n_more < 0:
            return None
        for _ in range(20):
            n_chosen = min(int(rng.integers(0, n_more + 1)), optional.size)
            chosen = rng.choice(optional, n_chosen, replace=False) if n_chosen else optional[:0]
            room = np.where(forced, highs - lows, 0.0)
            room[chosen] = highs[chosen]
            rest = m.total - lows.sum()
            if -SLACK * m.total <= rest <= room.sum() + SLACK * m.total:
                return self._filled(lows, room, max(rest, 0.0), rng)
        best = optional[np.argsort(-highs[optional], kind="stable")[:n_more]]
        room = np.where(forced, highs - lows, 0.0)
        room[best] = highs[best]
        rest = m.total - lows.sum()
        if not -SLACK * m.total <= rest <= room.sum() + SLACK * m.total:
            return None
        return self._filled(lows, room, max(rest, 0.0), rng)

    def _filled(self, lows: Floats, room: Floats, rest: float, rng: np.random.Generator) -> Floats:
        """Amounts (m,) above the lows that sum to `rest`, within the room of each."""
        step = self.mixture.step
        shares = rng.exponential(size=room.size) * (room > 0)
        left, amounts = rest, np.zeros(room.size)
        for _ in range(room.size):  # what a component cannot take goes to the others
            free = room - amounts > SLACK
            if left <= 0 or not free.any():
                break
            wanted = left * np.where(free, shares, 0.0) / shares[free].sum()
            taken = np.minimum(wanted, room - amounts)
            amounts, left = amounts + taken, left - float(taken.sum())
        if step is None:
            return self._exact(lows + amounts)
        units = np.floor(amounts / step + 1e-9)
        missing = round(rest / step) - int(units.sum())
        for i in np.argsort(units - amounts / step, kind="stable").tolist() * 2:
            if missing <= 0:
                break
            if (units[i] + 1) * step <= room[i] + SLACK:
                units[i], missing = units[i] + 1, missing - 1
        for i in np.argsort(-(room / step - units), kind="stable").tolist():
            more = min(missing, int(math.floor(room[i] / step + 1e-9) - units[i]))
            units[i], missing = units[i] + max(more, 0), missing - max(more, 0)
        return np.asarray(lows + units * step)

    def _exact(self, amounts: Floats) -> Floats:
        """The same amounts with the largest changed so that they sum to the total."""
        free = np.isnan(self.kept)
        if not free.any():
            return amounts
        i = int(np.argmax(np.where(free, amounts, -np.inf)))
        exact = amounts.copy()
        exact[i] = self.mixture.total - (amounts.sum() - amounts[i])
        return exact

    def moved(self, amounts: Floats, distance: float, rng: np.random.Generator) -> Floats:
        """A neighbour of a blend: some of one component goes to another, which may be new."""
        m, lows, highs = self.mixture, self._lows, self._highs
        free = np.isnan(self.kept)
        givers = np.flatnonzero(free & (amounts > lows + SLACK))
        takers = np.flatnonzero(free & (amounts < highs - SLACK))
        if not givers.size or not takers.size:
            return amounts
        i, j = int(rng.choice(givers)), int(rng.choice(takers))
        if i == j:
            return amounts
        most = min(amounts[i] - lows[i], highs[j] - amounts[j])
        is_full = int((amounts > SLACK).sum()) >= m.max_nonzero
        if amounts[j] <= SLACK and is_full:  # a new component takes the place of another
            if lows[i] > 0 or amounts[i] > highs[j] + SLACK:
                return amounts
            amount = amounts[i]
        else:
            amount = min(abs(rng.normal()) * distance * m.total, most)
        if m.step is not None:
            amount = m.step * max(round(amount / m.step), 1)
            if amount > most + SLACK:
                return amounts
        changed = amounts.copy()
        changed[i], changed[j] = changed[i] - amount, changed[j] + amount
        if m.step is None:
            return self._exact(np.where(np.abs(changed) < SLACK, 0.0, changed))
        units = np.rint((changed - np.array(m.lows)) / m.step)
        return np.asarray(np.array(m.lows) + units * m.step)

    def exchanges(self, amounts: Floats) -> list[Floats]:
        """All blends that move one step, or a thousandth of the total, between two components."""
        m, lows, highs = self.mixture, self._lows, self._highs
        amount = m.total / 1000 if m.step is None else m.step
        free = np.flatnonzero(np.isnan(self.kept))
        n_nonzero = int((amounts > SLACK).sum())
        found = []
        for i in free:
            for j in free:
                is_new = amounts[j] <= SLACK and amounts[i] - amount > SLACK
                fits = amounts[i] - amount >= lows[i] - SLACK and (
                    amounts[j] + amount <= highs[j] + SLACK
                )
                if i != j and fits and not (is_new and n_nonzero >= m.max_nonzero):
                    changed = amounts.copy()
                    changed[i], changed[j] = changed[i] - amount, changed[j] + amount
                    changed[np.abs(changed) < SLACK] = 0.0
                    found.append(self._exact(changed) if m.step is None else changed)
        return found


def sums_to_totals(mixtures: Sequence[Mixture], values: Mapping[str, float]) -> bool:
    """Whether values by name satisfy all mixtures."""
    return all(m.holds(values) for m in mixtures)
