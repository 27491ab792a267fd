"""Write ``instances/best_known.json``: per instance the best plan known and the tightest bound, and where each comes from.

Every back-end solves every instance (CP-SAT alone only the tiny ones); the best value among equal earlier tiers and the least bound are kept. Run it
after a change that should find or prove more:

    python scripts/best_known.py
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

from libra_opt.adapters.files import read_bytes, write_whole
from libra_opt.allocation import allocate
from libra_opt.domain import Certificate, State, read_state

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
BACKENDS = ("auto", "lp_relaxation", "greedy")
EXACT = "cp_sat"
EFFORT = 6
TOLERANCE = 1e-6
Earlier = tuple[float, ...]


def main() -> None:
    """Solve every instance with every back-end and write the file."""
    known = {}
    for path in sorted([*INSTANCES.glob("tiny/*.json"), *INSTANCES.glob("recorded/*.json"), *INSTANCES.glob("scale/*.json.gz")]):
        name = path.relative_to(INSTANCES).as_posix()
        sys.stderr.write(f"{name}\n")
        known[name] = best(read_state(read_bytes(str(path)), name), (*BACKENDS, EXACT) if name.startswith("tiny/") else BACKENDS)
    document = {"made_by": f"scripts/best_known.py, libra_opt {version('libra-opt')}, effort {EFFORT}", "instances": known}
    write_whole({INSTANCES / "best_known.json": json.dumps(document, indent=1) + "\n"})


def best(state: State, backends: tuple[str, ...]) -> dict[str, object]:
    """Return the best objective and bound over some back-ends, each with its provenance."""
    certificates = {
        backend: allocate(state.replace({"options": state.options.replace({"backend": backend, "effort": EFFORT, "gap": 0.0})})).certificate
        for backend in backends
    }
    least = min(earlier(certificate) for certificate in certificates.values())
    equal = {backend: certificate for backend, certificate in certificates.items() if earlier(certificate) == least}
    finder = max(equal, key=lambda backend: equal[backend].objective)
    prover = min(equal, key=lambda backend: equal[backend].bound)
    if equal[prover].bound < equal[finder].objective * (1 - TOLERANCE) - TOLERANCE:
        raise SystemExit(f"{prover} states the bound {equal[prover].bound}, but {finder} has a plan of {equal[finder].objective}: one of them is wrong")
    return {
        "objective": equal[finder].objective,
        "found_by": finder,
        "bound": equal[prover].bound,
        "proven_by": prover,
        "earlier_tiers": {tier.name: tier.objective for tier in equal[finder].tiers if tier.name != "value"},
    }


def earlier(certificate: Certificate) -> Earlier:
    """Return the tiers before the value, rounded so that noise does not tell plans apart."""
    return tuple(round(tier.objective, 9) for tier in certificate.tiers if tier.name != "value")


if __name__ == "__main__":
    main()
