"""What a difference between two clocks means."""

from typing import Final

from seamfs.doctor_findings import Finding, failed, passed, weaker

__all__ = ["clock_finding"]

OFFSET_NOTED_S: Final = 60.0


def clock_finding(offset_s: float, *, refused_from_s: float | None = None) -> Finding:
    """Return what it means that the store's clock is `offset_s` ahead of ours.

    From `refused_from_s` on the store refuses signed requests; without it, it only shows odd times.
    """
    detail = f"the store's clock is {abs(offset_s):.0f} s {'ahead of' if offset_s > 0 else 'behind'} ours"
    if refused_from_s is not None and abs(offset_s) >= refused_from_s:
        return failed("clock", f"{detail}; signed requests are refused", remedy="set the clock (NTP)")
    if abs(offset_s) >= OFFSET_NOTED_S:
        return weaker("clock", detail, remedy="set the clock (NTP)")
    return passed("clock", detail if abs(offset_s) >= 1 else "the store's clock agrees with ours")
