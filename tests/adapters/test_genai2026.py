"""Image-generation pods: duty becomes cards, two samples a period, memory is the higher of them."""

import numpy as np
import pytest

from libra_opt.adapters import genai2026
from libra_opt.errors import InputError
from libra_opt.recordings import Document

HEADER = "timestamp_anon,value,container_ip\n"
START = 1_000_000


def document(name, value, n_samples=130, pods=("p",)):
    lines = [f"{START + 57 * t},{value(t)},{pod}" for t in range(n_samples) for pod in pods]
    return Document(name, HEADER + "\n".join(lines) + "\n")


def converted(**changes):
    documents = {
        "duty": [document("duty.csv", lambda t: 20 if t % 2 else 60)],
        "memory": [document("memory.csv", lambda t: (1 + t % 2) * 1024**3)],
        "host": [document("host.csv", lambda t: 0.25 if t % 2 else 0.5)],
    }
    return genai2026.convert(documents | changes)


def test_means_of_duty_are_cards_and_peaks_of_memory_are_gib():
    cards, card_memory, host_memory = converted().measured
    assert (cards.resource, card_memory.resource, host_memory.resource) == ("gpu", "gpu_mem", "mem")
    assert np.allclose(cards.series.values, 0.4)
    assert np.allclose(card_memory.series.values, 2)
    assert np.allclose(host_memory.series.values, 32)
    assert cards.series.values.shape == (1, 65)


def test_gap_in_the_samples_is_a_period_without_a_measurement():
    lines = [f"{START + 57 * t},10,p" for t in range(130) if t not in {4, 5}]
    cards = converted(duty=[Document("duty.csv", HEADER + "\n".join(lines))]).measured[0]
    assert np.flatnonzero(np.isnan(cards.series.values[0])).tolist() == [2]


def test_pod_that_was_hardly_seen_is_left_out():
    short = Document("duty.csv", document("", lambda _: 5).text + f"{START},5,brief\n")
    assert converted(duty=[short]).measured[0].labels == ("p",)


def test_host_memory_of_pods_without_a_card_is_not_taken():
    assert converted(host=[document("host.csv", lambda _: 0.5, pods=("p", "q"))]).measured[2].labels == ("p",)


def test_memory_in_place_of_duty_is_refused_by_its_first_lines():
    with pytest.raises(InputError, match=r"line 2, value: 1\.07374e\+09 is above 100; is this the card duty"):
        converted(duty=[document("duty.csv", lambda _: 1024**3)])


def test_everything_that_is_not_recorded_is_said():
    made = converted()
    assert "one card per pod" in made.assumed
    assert made.derived
    assert made.recorded
    assert not made.synthetic
