"""The description of the service (OpenAPI) is true: schemathesis finds nothing, and its schemas are the exported ones."""

import schemathesis

REMOTE = schemathesis.pytest
