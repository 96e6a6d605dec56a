"""Fewer points of a curve that look the same: of each stretch the first, the last, the lowest and the highest."""

import numpy as np
import numpy.typing as npt


def thinned(times: npt.NDArray[np.int64], values: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.int64]:
    """Places of at most about `most` readings, ascending; all of them where there are no more.

    `times` ascend. Stretches are equally long in time, so that no peak is lost wherever readings lie close. Values
    that are not finite are neither lowest nor highest.
    """
    count = len(times)
    if count <= most:
        return np.arange(count)
    stretches = max(1, most // 4)
    # As floats: nanoseconds times the number of stretches would leave 64 bits.
    since = (times - times[0]).astype(np.float64)
    bucket = np.minimum((since / max(since[-1], 1.0) * stretches).astype(np.int64), stretches - 1)
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    last = np.append(first[1:], count) - 1
    low = np.where(np.isfinite(values), values, np.inf)
    high = np.where(np.isfinite(values), values, -np.inf)
    lowest = np.lexsort((low, bucket))[first]
    highest = np.lexsort((high, bucket))[last]
    return np.unique(np.concatenate([first, last, lowest, highest]))
