"""A point with the spread of its own past errors: how every point method becomes a predicted distribution.

Errors are compared in units of a local scale (normalised conformal scores; Lei et al., *Distribution-Free Predictive Inference for Regression*, JASA 113,
2018, section 5.2), so that the interval is narrow in calm times and wide in wild ones.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.ranked import rank
from libra_opt.forecast.rows import own_means, smoothed
from libra_opt.forecast.window import SCORED, Floats, Told, Window

__all__ = ["local_scale", "located", "spread"]

_SCALE_RATE: Final = 0.3
_SCALE_FLOOR: Final = 0.2
_TINY: Final = np.float32(1e-12)


def located(window: Window, ahead: Floats, errors: Floats, levels: NDArray[np.float64], *, scaled: bool) -> Told:
    """Return the quantiles around a point forecast.

    Parameters
    ----------
    ahead
        Shape ``(n_series, n_errors + horizon)``: the point said at each period from `Window.first` on of the one `horizon` later.
    errors
        Of these points, as `Window.errors` gives them; overwritten. Where none is known they are taken to be 0.
    scaled
        Whether errors are taken in units of their local scale.
    """
    if not window.is_complete:
        errors[np.isnan(errors).all(axis=1)] = 0
    past, now = window.at_origins(ahead), ahead[:, -1]
    if not scaled:
        return spread(errors, past, now, None, levels)
    scale = local_scale(window, errors)
    errors /= scale[:, : window.n_errors]
    return spread(errors, past, now, (window.at_origins(scale), scale[:, -1]), levels)


def spread(errors: Floats, past: Floats, now: Floats, unit: tuple[Floats, Floats] | None, levels: NDArray[np.float64]) -> Told:
    """Put the quantiles of `errors`, in units of their scale at the origins and now, around the points of the origins and of now."""
    ranked = rank(errors)
    scored, asked = np.split(ranked.at(np.concatenate([SCORED, levels])), [len(SCORED)], axis=1)
    offsets = scored.T[:, :, None]
    if unit is None:
        return Told(past + offsets, now[:, None] + asked)
    told = unit[0] * offsets
    told += past
    return Told(told, now[:, None] + asked * unit[1][:, None])


def local_scale(window: Window, errors: Floats) -> Floats:
    """Return the geometric mean of the overall and of the recent mean absolute error, positive, shape ``(n_series, n_errors + horizon)``.

    A column weighs the errors of the outcomes up to its period; before the first outcome stands the overall error; NaN before the series begins.
    """
    size = np.empty((window.n_series, window.n_errors + window.horizon), dtype=np.float32)
    np.abs(errors, out=size[:, window.horizon :])
    overall = own_means(window, size[:, window.horizon :], window.first)[:, None]
    size[:, : window.horizon] = overall
    gaps = np.isnan(size)
    if gaps.any():
        size = np.where(gaps, overall, size)
    for rows, skipped in window.own(window.first):
        size[rows, :skipped] = np.nan
    (scale,) = smoothed(size, (_SCALE_RATE,))
    scale *= (1 - _SCALE_FLOOR) * overall
    scale += _SCALE_FLOOR * overall * overall
    np.sqrt(scale, out=scale)
    scale += _TINY
    return scale
