"""How many tokens a model makes of a size, learned from what its service reports."""

from __future__ import annotations

from mewcode.context.sizes import Size

_PRIOR = (0.25, 1.0, 0.65, 0.8)
"""Tokens of a letter, a digit, a sign, a wide character: measured with tokenizers of four families on code,
prose, JSON, listings and Chinese; the Chinese weight between 0.57 and 1.02."""
_KINDS = range(len(_PRIOR))
_BESIDE = 6
"""Tokens around a message: its role, its separators."""
_IMAGE = 1_600
"""Tokens of a picture of the size that services scale to."""
_LEAST, _MOST = 0.4, 2.5
"""How far a weight may leave its prior."""
_BELIEVED = (0.25, 4.0)
"""A report that is so many times what was to be expected is of something else."""
_HUBER = 0.3
_PULL = 0.05
"""How many observations the prior counts for."""
_FORGET = 0.97
_HALF_TRUSTED = 500
"""Tokens of a report that counts for half a one: what stands beside the texts blurs a small one."""


class Calibration:
    """Of one model: least squares over what was reported, held near the prior, with old reports fading."""

    def __init__(self) -> None:
        self._factors = [1.0 for _ in _KINDS]
        self._matrix = [[0.0 for _ in _KINDS] for _ in _KINDS]
        self._right = [0.0 for _ in _KINDS]
        self._seen = 0

    def tokens(self, size: Size) -> float:
        """Tokens of a size."""
        weighted = (factor * part for factor, part in zip(self._factors, _parts(size), strict=True))
        return sum(weighted) + _beside(size)

    def learn(self, size: Size, tokens: int) -> None:
        """Takes in that a service counted ``tokens`` for ``size``. What cannot be is left out."""
        parts = _parts(size)
        expected = sum(parts)
        if expected < 1:
            return
        ratio = (tokens - _beside(size)) / expected
        if not _BELIEVED[0] <= ratio <= _BELIEVED[1]:
            return
        shares = [part / expected for part in parts]
        weight = expected / (expected + _HALF_TRUSTED)
        off = abs(ratio - sum(f * s for f, s in zip(self._factors, shares, strict=True)))
        if self._seen >= 3 and off > _HUBER:
            weight *= _HUBER / off
        self._seen += 1
        for row in _KINDS:
            self._right[row] = self._right[row] * _FORGET + weight * shares[row] * ratio
            for column in _KINDS:
                old = self._matrix[row][column] * _FORGET
                self._matrix[row][column] = old + weight * shares[row] * shares[column]
        self._solve()

    def _solve(self) -> None:
        rows = [
            [*(value + _PULL * (row == column) for column, value in enumerate(line)), right + _PULL]
            for row, (line, right) in enumerate(zip(self._matrix, self._right, strict=True))
        ]
        for pivot in _KINDS:  # symmetric and positive: no pivot is 0
            for row in range(pivot + 1, len(_KINDS)):
                factor = rows[row][pivot] / rows[pivot][pivot]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[pivot], strict=True)]
        factors = [0.0 for _ in _KINDS]
        for row in reversed(_KINDS):
            known = sum(rows[row][column] * factors[column] for column in range(row + 1, len(_KINDS)))
            factors[row] = (rows[row][-1] - known) / rows[row][row]
        # In one step: texts are also measured in threads.
        self._factors = [min(max(factor, _LEAST), _MOST) for factor in factors]


def _parts(size: Size) -> tuple[float, ...]:
    counts = (size.letters, size.digits, size.signs, size.wide)
    return tuple(weight * count for weight, count in zip(_PRIOR, counts, strict=True))


def _beside(size: Size) -> int:
    return _BESIDE * size.messages + _IMAGE * size.images
