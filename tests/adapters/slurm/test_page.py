"""The page on Slurm says what is so: every command in it is run beside a real one, its table is that of the settings."""

import re
import shlex
from pathlib import Path

from libra_opt.adapters.slurm import Settings
from tests.test_loop_page import commands_of, type_in

PAGE = (Path(__file__).parents[3] / "docs" / "slurm.md").read_text()
INSTALLS, MEASURES = "pip", "python"


def test_table_of_the_section_is_that_of_the_settings():
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.+) \|$", PAGE, flags=re.MULTILINE))
    assert set(rows) == set(Settings.model_fields)
    needed = {name for name, field in Settings.model_fields.items() if field.is_required()}
    assert {name for name, default in rows.items() if default == "must be given"} == needed
    assert (rows["timeout_seconds"], rows["default_pool"]) == ("10", "`cpu`")
    assert (Settings.model_fields["timeout_seconds"].default, Settings.model_fields["default_pool"].default) == (10, "cpu")


def test_every_command_works_but_the_installation_and_the_measurement(tmp_path, slurm):
    environment = {name: slurm.environment[name] for name in ("SLURM_CONF", "PATH")}
    slurm.account("root")
    lines = [line for line in commands_of(PAGE) if shlex.split(line)[0] not in (INSTALLS, MEASURES)]
    told = {}
    try:
        for line in lines:
            if "release" in line:
                held = slurm.submit_elastic("held", 3, account="root")
                slurm.run("scontrol", "update", f"JobId={held}", "Priority=0", "AdminComment=libra:held")
            ended = type_in(line, tmp_path, environment)
            assert ended.returncode == 0, (line, ended.stderr)
            told[line] = ended.stdout
        slurm.until(lambda: slurm.running(held) == 1, "job that was held")
    finally:
        slurm.cancel(*set(slurm.run("squeue", "-h", "-a", "-o", "%F", check=False).stdout.split()))
    assert [shlex.split(line)[0] for line in lines] == ["sbatch", "printf", "libra-opt", "libra-opt", "squeue", "squeue"]
    assert re.search(r"would: scontrol update JobId=\d+ ArrayTaskThrottle=12", told[lines[2]])
    assert re.search(r"done: scontrol update JobId=\d+ ArrayTaskThrottle=12", told[lines[3]])
