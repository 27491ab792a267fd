"""Looking ahead: several periods planned together, of which the first is committed (receding horizon); see `models/lookahead.md`."""

from libra_opt.lookahead.look import Outlook, look_ahead
from libra_opt.lookahead.written import Ahead, write_ahead

__all__ = ["Ahead", "Outlook", "look_ahead", "write_ahead"]
