"""To which size a size is brought."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lengths:
    """Either a multiple, or the buckets that there are."""

    multiple: int | None
    buckets: tuple[int, ...]

    def padded(self, size: int, name: str) -> int:
        """
        Raises:
            ValueError: it is longer than the largest bucket.
        """
        if self.multiple is not None:
            return max(1, -(-size // self.multiple)) * self.multiple
        for bucket in self.buckets:
            if size <= bucket:
                return bucket
        raise ValueError(
            f"{name} has a length of {size}, but the largest bucket is {self.buckets[-1]}. Add a larger bucket, or "
            f"truncate before."
        )


def lengths_of(multiple: int | None, buckets: object) -> Lengths:
    """
    Raises:
        ValueError: not exactly one of the two is given, or it makes no sense.
    """
    if (multiple is None) == (buckets is None):
        raise ValueError("Give either multiple= or buckets=, and not both.")
    if multiple is not None:
        if not _is_positive(multiple):
            raise ValueError(f"multiple is {multiple!r}, but must be a whole number above 0.")
        return Lengths(multiple, ())
    sizes = tuple(buckets) if isinstance(buckets, (tuple, list, set, frozenset, range)) else (buckets,)
    if not sizes or not all(map(_is_positive, sizes)):
        raise ValueError(f"buckets is {buckets!r}, but must be whole numbers above 0, such as (128, 256, 512).")
    return Lengths(None, tuple(sorted(set(sizes))))


def _is_positive(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0
