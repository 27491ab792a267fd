"""Methods of the package `statsforecast`, behind the same door: slow, one series after the other, for comparison and for few series.

The only door to that package, which is an optional extra.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.errors import MissingExtraError
from libra_opt.forecast.series import fill

__all__ = ["STATISTICAL", "predict_statistical"]

STATISTICAL: Final = {"auto_ets": "AutoETS", "auto_theta": "AutoTheta"}
"""Names of methods, and what the package calls them."""

_LEAST_VALUES: Final = 8


def predict_statistical(measured: NDArray[np.float64], levels: NDArray[np.float64], horizon: int, method: str) -> NDArray[np.float64]:
    """Return quantiles, shape ``(n_series, horizon, n_levels)``, finite and not negative.

    A series that is constant or has fewer than eight values is told by its last value.

    Raises
    ------
    MissingExtraError
        The package is not installed.
    """
    model = _model(method)
    values = np.zeros((len(measured), horizon, len(levels)))
    for i, row in enumerate(measured):
        known = row[int(np.argmax(~np.isnan(row))) :] if not np.isnan(row).all() else row[:0]
        filled = fill(known[None, :])[0]
        if len(filled) < _LEAST_VALUES or filled.min() == filled.max():
            values[i] = filled[-1] if len(filled) else 0
        else:
            values[i] = _quantiles(model, filled, levels, horizon)
    return values


def _model(method: str) -> Any:
    try:
        from statsforecast import models  # noqa: PLC0415 - an optional extra, paid for by whoever asks for it
    except ImportError as error:
        raise MissingExtraError(f"method {method!r} needs statsforecast; install the extra: pip install 'libra-opt[statsforecast]'") from error
    return getattr(models, STATISTICAL[method])()


def _quantiles(model: Any, filled: NDArray[np.float64], levels: NDArray[np.float64], horizon: int) -> NDArray[np.float64]:
    widths = sorted({round(abs(2 * float(level) - 1) * 100, 6) for level in levels if level != 0.5})
    told = model.forecast(y=filled, h=horizon, level=widths or None)
    columns = []
    for level in levels:
        width = round(abs(2 * float(level) - 1) * 100, 6)
        side = "mean" if level == 0.5 else f"{'lo' if level < 0.5 else 'hi'}-{width:g}"
        columns.append(np.asarray(told[side] if side in told else told[f"{side[:2]}-{width}"], dtype=np.float64))
    quantiles = np.nan_to_num(np.stack(columns, axis=1), nan=float(filled[-1]), posinf=float(filled.max()))
    ascending: NDArray[np.float64] = np.maximum.accumulate(np.maximum(quantiles, 0), axis=1)
    return ascending
