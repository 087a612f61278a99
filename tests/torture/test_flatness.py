"""The judgement over a soak: noise is none, a leak of any kind is one."""

import random
from dataclasses import replace

import pytest

from tests.torture.flatness import RSS_GROWTH_BYTES_MAX, Sample, findings, growths

MIB = 1 << 20


def level(count: int = 300) -> list[Sample]:
    """Return a process that breathes: memory within 6 MiB, a few connections and threads that come and go."""
    dice = random.Random(1)
    return [
        Sample(5.0 * number, 150 * MIB + dice.randrange(6 * MIB), 20 + dice.randrange(6), 8 + dice.randrange(4))
        for number in range(count)
    ]


def test_a_process_that_breathes_is_level() -> None:
    assert findings(level()) == ()
    assert all(growth.is_level for growth in growths(level(40)))


def test_single_peaks_are_no_growth() -> None:
    samples = level()
    for number in range(0, len(samples), 7):
        samples[number] = replace(samples[number], rss_bytes=400 * MIB, descriptors=90, threads=40)
    assert findings(samples) == ()


def test_slow_growth_of_memory_is_found() -> None:
    samples = level()
    leaked = 2 * RSS_GROWTH_BYTES_MAX // len(samples)
    found = findings([replace(one, rss_bytes=one.rss_bytes + leaked * at) for at, one in enumerate(samples)])
    assert len(found) == 1
    assert found[0].startswith("memory GROWS")


@pytest.mark.parametrize("what", ["descriptors", "threads"])
def test_five_leaked_in_a_long_run_are_found(what: str) -> None:
    samples = level()
    found = findings(
        [replace(one, **{what: getattr(one, what) + at * 5 // len(samples)}) for at, one in enumerate(samples)]
    )
    assert len(found) == 1
    assert found[0].startswith(f"{what} GROWS")


def test_too_few_samples_are_no_proof() -> None:
    with pytest.raises(ValueError, match="9 samples are too few"):
        growths(level(9))
