"""The service: `allocate`, `validate` and `verify` over HTTP, for callers in any language (extra ``service``)."""

from libra_opt.service.settings import Settings, check_settings

__all__ = ["Settings", "check_settings"]
