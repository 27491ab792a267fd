"""How many states a property sees, and what they reached: a property that never reaches its rule tests nothing."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from hypothesis import event, settings

__all__ = ["EXAMPLES", "FEW", "PROFILE", "Reached"]

PROFILE: Final = settings.get_current_profile_name()

EXAMPLES: Final = {"dev": 15, "ci": 60, "nightly": 600}.get(PROFILE, 25)
"""States of one property."""

FEW: Final = {"dev": 8, "ci": 30, "nightly": 300}.get(PROFILE, 12)
"""States of a property that plans each of them several times."""


class Reached:
    """Counts what the states of one property reached."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.total = 0

    def state(self) -> None:
        """Count one more state."""
        self.total += 1

    def note(self, name: str, *, holds: bool = True) -> bool:
        """Count a state that reached something, and return whether it did."""
        if holds:
            self.count[name] += 1
            event(name)
        return holds

    def require(self, record: Callable[[str, object], None], floors: Mapping[str, float]) -> None:
        """Record the shares, and assert that each is at least its floor where there are enough states to tell."""
        names = dict.fromkeys([*floors, *sorted(self.count)])
        shares = {name: self.count[name] / max(1, self.total) for name in names}
        record("reached", f"{self.total} states; " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
        if PROFILE in {"ci", "nightly"}:
            assert {name: share for name, share in shares.items() if share < floors.get(name, 0)} == {}
