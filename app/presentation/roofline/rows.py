"""Texts along one edge of a plot: in order, without overlap, each as near its wanted place as can be."""

from collections.abc import Sequence


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Middles at least ``gap`` apart between low and high, by the least sum of squares.

    ``wanted`` ascends. Those that would meet are moved together, as far up as down (pool adjacent violators,
    Best and Chakravarti 1990).
    """
    blocks: list[list[float]] = []  # sum of wanted places less their offset in the block, and how many
    for index, place in enumerate(wanted):
        blocks.append([place - index * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    middles: list[float] = []
    for total, count in blocks:
        start = total / count
        for _ in range(int(count)):
            middles.append(start + len(middles) * gap)
    count = len(middles)
    for index, middle in enumerate(middles):  # the edges push inwards, from either end
        middles[index] = max(middle, low + index * gap)
    for index in range(count - 1, -1, -1):
        middles[index] = min(middles[index], high - (count - 1 - index) * gap)
    return middles
