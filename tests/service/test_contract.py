"""The description of the service (OpenAPI) is true: schemathesis finds nothing, and its schemas are the exported ones."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from libra_opt.domain.schema import json_schema

REMOTE = schemathesis.pytest
