"""`libra-opt schema`: the JSON schema of a document."""

import argparse
import json

from libra_opt.cli.documents import deliver
from libra_opt.cli.terminal import Exit
from libra_opt.domain.schema import json_schema

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Print or write the schema, indented, keys as the package gives them."""
    deliver(json.dumps(json_schema(arguments.kind), indent=2, ensure_ascii=False), arguments.output)
    return Exit.DONE
