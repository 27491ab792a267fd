"""`libra-opt serve`: the service, until it is told to stop."""

import argparse
from importlib import import_module
from pathlib import Path

from libra_opt.adapters.files import read_bytes
from libra_opt.cli.terminal import Exit, message
from libra_opt.errors import Fault, InputError, MissingExtraError
from libra_opt.service import Settings, check_settings

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Check everything, then listen."""
    settings = Settings(
        host=arguments.host,
        port=arguments.port,
        token=_token(arguments.token_file) if arguments.token_file else None,
        is_open=arguments.open,
        workers=arguments.workers,
        waiting=arguments.waiting,
        most_bytes=arguments.most_bytes,
        most_effort=arguments.most_effort,
        seconds=arguments.seconds,
        read_seconds=arguments.read_seconds,
        worker_bytes=arguments.worker_bytes,
        most_connections=arguments.most_connections,
    )
    check_settings(settings)
    try:
        server = import_module("libra_opt.service.server")
    except ImportError as error:
        raise MissingExtraError(f"`serve` needs {error.name}; install it with: pip install 'libra-opt[service]'") from error
    server.serve(settings, message)
    return Exit.DONE


def _token(name: str) -> str:
    try:
        return read_bytes(str(Path(name))).decode().strip()
    except UnicodeDecodeError as error:
        raise InputError(name, (Fault("", "holds no token: it is not text; make one with: openssl rand -hex 32"),)) from error
