"""Answers of Slurm's commands, written by hand in both dialects: 22.05, and the releases since 23.02."""

import json

OLD, NEW = "22.05", "since 23.02"
JOB = {
    "job_id": 17,
    "array_job_id": 0,
    "array_task_id": None,
    "array_task_string": "",
    "array_max_tasks": 0,
    "name": "job",
    "user_name": "anna",
    "account": "team-a",
    "partition": "batch",
    "job_state": "PENDING",
    "state_reason": "Resources",
    "node_count": 1,
    "cpus": 4,
    "memory_per_node": 8192,
    "tres_req_str": "cpu=4,mem=8G,node=1,billing=4",
    "tres_alloc_str": "",
    "tres_per_node": "gres:gpu:h100:2",
    "tres_per_job": "",
    "tres_per_task": "",
    "gres_detail": [],
    "nodes": "",
    "comment": "",
    "admin_comment": "",
    "submit_time": 1000,
    "start_time": 0,
    "eligible_time": 1000,
    "requeue": True,
}
NODE = {
    "name": "gpu1",
    "state": "idle",
    "state_flags": [],
    "partitions": ["batch"],
    "gres": "gpu:h100:8(S:0-1)",
    "gres_used": "gpu:h100:0(IDX:N/A)",
    "cpus": 64,
    "real_memory": 512000,
    "alloc_cpus": 0,
    "alloc_memory": 0,
}
_NUMBERS = (*("array_job_id", "array_task_id", "array_max_tasks", "node_count", "cpus", "memory_per_node", "submit_time", "start_time", "eligible_time"),)


def squeue(dialect, *jobs):
    """Return the output of ``squeue --json`` for jobs that differ from `JOB` in the given fields."""
    return json.dumps({"meta": {}, "errors": [], "jobs": [_job(dialect, {**JOB, **job}) for job in jobs]})


def sinfo(dialect, *nodes):
    return json.dumps({"meta": {}, "errors": [], "nodes": [_node(dialect, {**NODE, **node}) for node in nodes]})


def running(job_id, node, *, array=0, task=None, cards=2, **more):
    """Return the fields of a job, or a task, that runs on one node."""
    return {
        "job_id": job_id,
        "array_job_id": array,
        "array_task_id": task,
        "job_state": "RUNNING",
        "state_reason": "None",
        "nodes": node,
        "gres_detail": [f"gpu:h100:{cards}(IDX:0-{cards - 1})"],
        "tres_alloc_str": "cpu=4,mem=8G,node=1,billing=4",
        "start_time": 1000 + job_id,
        **more,
    }


def _job(dialect, job):
    if dialect == OLD:
        return job
    numbers = {name: {"set": job[name] is not None, "infinite": False, "number": job[name] or 0} for name in _NUMBERS}
    return {
        **job,
        **numbers,
        "job_state": [job["job_state"]],
        "tres_per_node": job["tres_per_node"].replace("gres:", "gres/"),
        "hold": "Held" in job["state_reason"],
    }


def _node(dialect, node):
    if dialect == OLD:
        return node
    current = {name: value for name, value in node.items() if name != "state_flags"}
    return {**current, "state": [node["state"].upper(), *node["state_flags"]]}
