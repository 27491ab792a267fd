"""A real Slurm on this machine: four nodes of eight fake cards each, on loopback, with slurmdbd where it is installed.

A fake card is a character device. `config_overrides` lets a small machine pose as nodes of 64 cores. What would be synchronised to disk again and again
lies in memory, everything else in one directory; the daemons are ended by the process ids that they write there.
"""

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from pathlib import Path

DAEMONS = ("slurmctld", "slurmd", "squeue", "scontrol", "sbatch")
DATABASE = ("slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db")
PACKAGES = "slurmctld slurmd slurm-client slurm-wlm-basic-plugins slurmdbd slurm-wlm-mysql-plugin mariadb-server"
MEMORY = "/dev/shm"  # noqa: S108 - mkdtemp makes a directory of its own in it
N_NODES, N_CARDS, N_CORES, MEMORY_MB = 4, 8, 64, 512_000


def missing(commands=(*DAEMONS, *DATABASE)):
    """Return why no real Slurm can be started here; empty where it can."""
    absent = [name for name in commands if shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None]
    if absent:
        return f"a real Slurm needs {', '.join(absent)}: apt-get install {PACKAGES}"
    return "" if os.geteuid() == 0 else "a real Slurm with fake cards needs root, for mknod and for its daemons"


class RealSlurm:
    """One cluster, between `start` and `stop`."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.ports = _free_ports(N_NODES + 2)
        self.environment = {
            **os.environ,
            "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
            "SLURM_CONF": str(self.directory / "slurm.conf"),
            "MYSQL_UNIX_PORT": str(self.directory / "run" / "my.sock"),
        }
        self._children = []
        self._in_memory = Path(tempfile.mkdtemp(prefix="libra-slurm-", dir=MEMORY if Path(MEMORY).is_dir() else None))

    def start(self):
        for name in ("log", "run", "dev", *(f"spool/gpu{i}" for i in range(1, N_NODES + 1))):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        for name in ("db", "state"):
            (self._in_memory / name).mkdir()
        for i in range(N_CARDS):
            os.mknod(self.directory / "dev" / f"fake{i}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        self._write_configuration()
        self._start_database()
        self.start_controller()
        for i in range(1, N_NODES + 1):
            self.run("slurmd", "-N", f"gpu{i}", "-f", self.environment["SLURM_CONF"])
        self.until(lambda: self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.count("gpu") == N_NODES, "four idle nodes", seconds=60)

    def start_controller(self):
        self.run("slurmctld", "-f", self.environment["SLURM_CONF"])

    def stop_controller(self):
        self._end("slurmctld")

    def stop(self):
        """End jobs first, or their steps outlive the daemons; then everything, whatever went wrong before."""
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            ids = self.run("squeue", "-h", "-a", "-o", "%A", check=False).stdout.split()
            if ids:
                self.run("scancel", "--full", *sorted(set(ids)), check=False)
                self.until(lambda: not self.run("squeue", "-h", "-t", "R,CG,S", check=False).stdout.strip(), "jobs to end", seconds=15)
        for name in ("slurmctld", *(f"slurmd.gpu{i}" for i in range(1, N_NODES + 1)), "slurmdbd"):
            self._end(name)
        for child in self._children:
            child.terminate()
            child.wait(timeout=60)
        shutil.rmtree(self._in_memory, ignore_errors=True)

    def lose(self, node):
        """Kill the daemon of a node, and say at once what Slurm would find out in half a minute."""
        os.kill(int((self.directory / "run" / f"slurmd.{node}.pid").read_text()), signal.SIGKILL)
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=killed")

    def find(self, node):
        """Start the daemon of a lost node again, and wait until Slurm takes it, by itself or when told to."""
        self.run("slurmd", "-N", node, "-f", self.environment["SLURM_CONF"])
        self.until(lambda: self._is_taken_back(node), f"node {node}")

    def _is_taken_back(self, node):
        states = self.run("sinfo", "-h", "-n", node, "-o", "%T").stdout.split()
        if any("down" in state for state in states):
            self.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)  # refused where the node has come back by itself in between
            return False
        return bool(states) and not any("*" in state or "unk" in state for state in states)

    def run(self, *arguments, check=True):
        ended = subprocess.run(arguments, capture_output=True, text=True, check=False, env=self.environment, timeout=120, stdin=subprocess.DEVNULL)  # noqa: S603
        assert not check or ended.returncode == 0, (arguments, ended.stdout, ended.stderr)
        return ended

    def until(self, holds, what, seconds=60.0):
        """Wait until something holds, and return after how many seconds it did."""
        began = time.monotonic()
        while not holds():
            assert time.monotonic() - began < seconds, f"no {what} within {seconds} s; {self.run('squeue', '-o', '%i %T %r %S %b').stdout}"
            time.sleep(0.1)
        return time.monotonic() - began

    def account(self, name, cards=None):
        self.run("sacctmgr", "-i", "add", "account", name, f"Description={name}", "Organization=o", check=False)
        self.run("sacctmgr", "-i", "add", "user", "root", f"Account={name}", check=False)
        self.run("sacctmgr", "-i", "modify", "account", name, "set", f"GrpTRES=gres/gpu={-1 if cards is None else cards}", check=False)

    def submit(self, name, *options, account, does="exec sleep 600"):
        """Submit a job that does something, and return its number."""
        line = ("sbatch", "--parsable", "-J", name, "-A", account, "--requeue", "-o", "/dev/null", *options, "--wrap", does)
        return self.run(*line).stdout.strip().split(";")[0]

    def submit_elastic(self, name, n_tasks, *, account, cards=2, throttle=1, does="exec sleep 600"):
        options = (f"--array=0-{n_tasks - 1}%{throttle}", "-N1", f"--gres=gpu:h100:{cards}", "-c", "4", "--mem=8G")
        return self.submit(name, *options, account=account, does=does)

    def running(self, job_id):
        """Return how many tasks, or jobs, of that number run."""
        return len(self.run("squeue", "-h", "-t", "R", "-r", "-j", str(job_id), "-o", "%i", check=False).stdout.split())

    def want(self, job_id, n_tasks):
        self.run("scontrol", "update", f"JobId={job_id}", f"Comment=libra demand={n_tasks}")

    def cancel(self, *job_ids):
        self.run("scancel", *map(str, job_ids), check=False)
        self.until(lambda: not any(self.running(job_id) for job_id in job_ids), "end of cancelled jobs")

    def _end(self, name):
        file = self.directory / "run" / f"{name}.pid"
        if not file.exists():
            return
        number = int(file.read_text())
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGTERM)
        for _ in range(150):
            if _is_over(number):
                break
            time.sleep(0.1)
        file.unlink(missing_ok=True)

    def _start_database(self):
        place, run = self._in_memory / "db", self.directory / "run"
        account = ("--user=root", f"--datadir={place}")
        self.run("mariadb-install-db", "--no-defaults", *account, "--auth-root-authentication-method=socket", "--skip-test-db")
        line = (
            "mariadbd",
            "--no-defaults",
            *account,
            f"--socket={run}/my.sock",
            "--skip-networking",
            f"--pid-file={run}/mariadb.pid",
            "--innodb-buffer-pool-size=64M",
        )
        with (self.directory / "log" / "mariadb.log").open("wb") as log:
            self._children.append(subprocess.Popen(line, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment))  # noqa: S603
        create = ("mariadb", "--no-defaults", "-S", f"{run}/my.sock", "-e", "create database if not exists slurm_acct_db")
        self.until(lambda: self.run(*create, check=False).returncode == 0, "database", seconds=60)
        configuration = self.directory / "slurmdbd.conf"
        configuration.write_text(
            f"AuthType=auth/none\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={self.ports[-1]}\nSlurmUser=root\nStorageType=accounting_storage/mysql\n"
            "StorageHost=localhost\nStorageUser=root\nStorageLoc=slurm_acct_db\nCommunicationParameters=NoInAddrAny\n"
            f"LogFile={self.directory}/log/slurmdbd.log\nPidFile={run}/slurmdbd.pid\n"
        )
        configuration.chmod(0o600)
        subprocess.run(["slurmdbd"], check=True, env={**self.environment, "SLURM_CONF": str(configuration)}, timeout=60)  # noqa: S607
        self.until(lambda: _listens(self.ports[-1]), "slurmdbd", seconds=60)
        self.run("sacctmgr", "-i", "-Q", "add", "cluster", "libra", check=False)

    def _write_configuration(self):
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(
            f"NodeName=gpu{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={self.ports[i]} Gres=gpu:h100:{N_CARDS} CPUs={N_CORES} Boards=1 SocketsPerBoard=1 "
            f"CoresPerSocket={N_CORES} ThreadsPerCore=1 RealMemory={MEMORY_MB} State=UNKNOWN"
            for i in range(1, N_NODES + 1)
        )
        (self.directory / "slurm.conf").write_text(
            f"""ClusterName=libra
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={self.ports[0]}
StateSaveLocation={self._in_memory}/state
SlurmdSpoolDir={self.directory}/spool/%n
SlurmctldPidFile={self.directory}/run/slurmctld.pid
SlurmdPidFile={self.directory}/run/slurmd.%n.pid
SlurmctldLogFile={self.directory}/log/slurmctld.log
SlurmdLogFile={self.directory}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={self.ports[-1]}
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu,gres/gpu:h100
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,permit_job_expansion
GresTypes=gpu
JobRequeue=1
InactiveLimit=0
KillWait=2
MinJobAge=300
SlurmctldTimeout=30
SlurmdTimeout=30
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
        )
        (self.directory / "gres.conf").write_text(f"NodeName=gpu[1-{N_NODES}] Name=gpu Type=h100 File={self.directory}/dev/fake[0-{N_CARDS - 1}]\n")


def _free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _is_over(number):
    """Tell whether a process has ended, whether or not anybody has asked for its end."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
