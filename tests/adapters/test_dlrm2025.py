"""Recommendation services: an application asks for what its living instances ask for."""

import numpy as np
import pytest

from libra_opt.adapters import dlrm2025
from libra_opt.errors import InputError
from libra_opt.recordings import Document

HEADER = "instance_sn,app_name,cpu_request,gpu_request,rdma_request,memory_request,creation_time,deletion_time\n"
ALWAYS = "i0,a,10,1,25,100,,\n"
LAST = "end,z,1,0,1,1,,360000\n"


def converted(lines):
    return {each.resource: each for each in dlrm2025.convert({"instances": [Document("apps.csv", HEADER + lines)]}).measured}


def row(measured, label):
    return measured.series.values[measured.labels.index(label)]


def test_instances_count_while_they_live():
    made = converted(ALWAYS + "i1,a,4,1,25,50,3600,9000\n" + LAST)
    assert row(made["cpu"], "a")[:5].tolist() == [10, 14, 12, 10, 10]
    assert row(made["gpu"], "a")[:5].tolist() == [1, 2, 1.5, 1, 1]
    assert np.allclose(row(made["net"], "a")[:3], [3.125, 6.25, 4.6875])


def test_memory_is_the_highest_moment_of_the_hour():
    made = converted(ALWAYS + "i1,a,4,1,25,50,4000,4100\n" + "i2,a,4,1,25,50,4200,9000\n" + LAST)
    assert row(made["mem"], "a")[:4].tolist() == [100, 150, 150, 100]


def test_replacement_at_one_moment_is_no_peak():
    made = converted(ALWAYS + "i1,a,4,1,25,50,,4000\n" + "i2,a,4,1,25,50,4000,\n" + LAST)
    assert set(row(made["mem"], "a").tolist()) == {150}


def test_application_is_measured_in_the_hours_it_is_there_throughout():
    values = row(converted(ALWAYS + "i1,b,4,1,25,50,35000,183000\n" + LAST)["cpu"], "b")
    assert np.flatnonzero(~np.isnan(values)).tolist() == list(range(10, 50))


def test_application_of_a_few_hours_or_without_the_resource_has_no_series():
    made = converted(ALWAYS + "i1,brief,4,1,25,50,36000,40000\n" + LAST)
    assert made["cpu"].labels == ("a", "z")
    assert made["gpu"].labels == ("a",)


def test_a_day_is_the_season():
    made = converted(ALWAYS + LAST)
    assert made["cpu"].season == (24, 24)


def test_instance_deleted_before_it_was_created_is_named():
    with pytest.raises(InputError, match="line 3, deletion_time: 5 is before creation_time 9"):
        converted(ALWAYS + "i1,a,4,1,25,50,9,5\n")
