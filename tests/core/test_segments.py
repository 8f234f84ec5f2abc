"""Segments survive a kill at any byte."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core import BadInput
from harness.core.segments import SegmentWriter, read_segment

RECORDS: list[dict[str, object]] = [{"id": n, "text": "é" * n} for n in range(6)]


def write(path: Path, records: list[dict[str, object]]) -> None:
    writer = SegmentWriter(path)
    for record in records:
        writer.append(record)
    writer.close()


def test_records_come_back_in_order(tmp_path: Path) -> None:
    write(tmp_path / "a.seg", RECORDS[:3])
    write(tmp_path / "a.seg", RECORDS[3:])
    assert list(read_segment(tmp_path / "a.seg")) == RECORDS


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cut_at_any_byte_keeps_the_whole_records_before_it(
    tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "b.seg"
    path.unlink(missing_ok=True)
    write(path, RECORDS)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = list(read_segment(path))
    assert kept == RECORDS[: len(kept)]
    writer = SegmentWriter(path)
    writer.append({"after": "kill"})
    writer.close()
    assert list(read_segment(path)) == [*kept, {"after": "kill"}]


def test_damage_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.seg"
    write(path, RECORDS)
    raw = bytearray(path.read_bytes())
    raw[12] ^= 0xFF
    path.write_bytes(bytes(raw))
    with pytest.raises(BadInput, match="damaged"):
        list(read_segment(path))


def test_bytes_that_are_no_frames_are_no_torn_tail(tmp_path: Path) -> None:
    (tmp_path / "a.seg").write_bytes(b"\xff\x01" * 500)
    with pytest.raises(BadInput, match="damaged at byte 8"):
        list(read_segment(tmp_path / "a.seg"))


def test_a_full_disk_is_reported_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "full.seg"
    writer = SegmentWriter(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        with pytest.raises(BadInput, match=f"cannot write '{path}'"):
            writer.append({"a": "b"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        writer.close()


def test_zeros_that_a_loss_of_power_left_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "d.seg"
    write(path, RECORDS)
    raw = path.read_bytes()
    for torn in (len(raw), len(raw) - 5):
        path.write_bytes(raw[:torn] + bytes(4096))
        records = list(read_segment(path))
        assert records == RECORDS[: len(records)]
        assert len(records) >= len(RECORDS) - 1
        writer = SegmentWriter(path)
        assert writer.dropped_bytes
        writer.append({"after": "loss"})
        writer.close()
        assert list(read_segment(path)) == [*records, {"after": "loss"}]
