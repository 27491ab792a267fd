"""Real services on a free port of the loopback interface, each a process of its own."""

import json
import re
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALLEST = (ROOT / "instances" / "tiny" / "smallest.json").read_bytes()
COMMAND = (sys.executable, "-c", "import sys; from libra_opt.cli import main; sys.exit(main())", "serve", "--port", "0")


@dataclass
class Service:
    """One service: where it listens, what it said, and requests to it."""

    process: subprocess.Popen
    port: int = 0
    said: list[str] = field(default_factory=list)

    def ask(self, method, path, body=None, headers=(), connection=None):
        """Return status, headers and body of one request."""
        if connection is None:
            with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as once:
                return self.ask(method, path, body, headers, once)
        connection.request(method, path, body, {"Content-Type": "application/json", **dict(headers)} if body is not None else dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def post(self, path, body, **headers):
        return self.ask("POST", path, body, [(name.replace("_", "-"), value) for name, value in headers.items()])

    def workers(self):
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        every = {int(child) for task in Path(f"/proc/{self.process.pid}/task").iterdir() for child in (task / "children").read_text().split()}
        return sorted(pid for pid in every | set(map(int, children)) if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text())


@contextmanager
def running(*options):
    process = subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    service = Service(process)
    listens = threading.Event()

    def listen():
        for line in process.stderr:
            service.said.append(line)
            if found := re.search(r"listening on http://[\d.]+:(\d+) ", line):
                service.port = int(found[1])
                listens.set()
        listens.set()

    reader = threading.Thread(target=listen)
    reader.start()
    try:
        assert listens.wait(300)
        assert service.port, service.said
        yield service
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            reader.join()
            process.stderr.close()


def problem_of(answer, status, kind):
    """Return the problem that an answer must be."""
    got, headers, body = answer
    assert headers["content-type"] == "application/problem+json"
    problem = json.loads(body)
    assert (got, problem["status"], problem["type"]) == (status, status, f"urn:libra-opt:problem:{kind}")
    assert set(problem) == {"type", "title", "status", "detail", "errors"}
    assert problem["title"]
    assert problem["detail"]
    return problem
