"""95 % intervals and tests for runs that are paired by seed. The bootstrap is seeded, so a report is reproducible."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Z = 1.959964
RESAMPLES = 4_000


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Interval of a rate (Wilson 1927)."""
    p = successes / n
    middle = p + Z * Z / (2 * n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)


def paired_difference(first: Sequence[bool], second: Sequence[bool]) -> tuple[float, float, float]:
    """Difference of two paired rates, first - second, with its interval.

    Method 10 of Newcombe 1998, Statistics in Medicine 17.
    """
    n = len(first)
    both = sum(a and b for a, b in zip(first, second))
    only_first = sum(a and not b for a, b in zip(first, second))
    only_second = sum(b and not a for a, b in zip(first, second))
    neither = n - both - only_first - only_second
    p1, p2 = (both + only_first) / n, (both + only_second) / n
    l1, u1 = wilson(both + only_first, n)
    l2, u2 = wilson(both + only_second, n)
    product = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    excess = both * neither - only_first * only_second
    if excess > 0:
        excess = max(excess - n / 2, 0)
    phi = excess / math.sqrt(product) if product else 0.0
    down = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    up = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return p1 - p2, p1 - p2 - math.sqrt(max(down, 0)), p1 - p2 + math.sqrt(max(up, 0))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Two-sided exact p that two paired rates are the same."""
    only_first = sum(a and not b for a, b in zip(first, second))
    only_second = sum(b and not a for a, b in zip(first, second))
    n, k = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return 1.0
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


def bootstrap_difference(first: Sequence[float], second: Sequence[float], seed: int = 1) -> tuple[float, float, float]:
    """Mean of the paired differences, first - second, with its percentile bootstrap interval over the pairs."""
    difference = np.asarray(first, float) - np.asarray(second, float)
    rng = np.random.default_rng(seed)
    means = difference[rng.integers(0, len(difference), (RESAMPLES, len(difference)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(difference.mean()), float(low), float(high)


def holm(p_values: Sequence[float]) -> list[float]:
    """p values, corrected for their number (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = largest
    return corrected
