#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""otf2check.py ARCHIVE [lean]: what otf2-print does not look at. For the system's python3, which has otf2.

Every operation that begins completes once, on the same location and handle; one that does not block
is issued; events of a location are in order of time, calls are entered and left; handles are open when
they are used; counts are those of the definitions; a request is a region, too. The segments of a call are
regions in it, one after the other, and add up to its strata. Times with a server are regions of the
server, too. With lean there are none of these. Prints a line of
JSON: bytes read and written per file, and counts.
"""
from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from typing import Any

import otf2
from otf2.enums import IoHandleFlag, IoOperationFlag

UNDEFINED = (1 << 64) - 1


class Checker:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.last: dict[Any, int] = {}
        self.calls: dict[Any, list[Any]] = defaultdict(list)
        self.events: Counter[Any] = Counter()
        self.begun: dict[int, tuple[Any, Any, Any]] = {}
        self.non_blocking: set[int] = set()
        self.issued: set[int] = set()
        self.done: set[int] = set()
        self.open: set[Any] = set()
        self.closed: set[Any] = set()
        self.locked: dict[Any, str] = {}
        self.bytes: dict[str, dict[str, int]] = defaultdict(lambda: {"READ": 0, "WRITE": 0, "FLUSH": 0})
        self.count: Counter[str] = Counter()
        self.request_ns = 0  # of all regions of requests
        self.server_ns = 0  # of all regions of servers
        self.segments: dict[Any, Counter[str]] = defaultdict(Counter)  # of the call, by stratum
        self.segment_ns: Counter[str] = Counter()  # of all
        self.entered: dict[Any, int] = {}

    def wrong(self, what: str) -> None:
        self.problems.append(what)

    def usable(self, handle: Any, event: Any) -> None:
        there = handle.io_handle_flags.value & IoHandleFlag.PRE_CREATED.value
        if handle in self.closed or (not there and handle not in self.open):
            self.wrong(f"{handle.name} is not open at {event.time}")

    def look(self, location: Any, e: Any) -> None:
        name = type(e).__name__
        self.events[location] += 1
        self.count[name] += 1
        if e.time < self.last.get(location, 0):
            self.wrong(f"{location.name}: {e.time} is before {self.last[location]}")
        self.last[location] = e.time
        handler = getattr(self, name, None)
        if handler:
            handler(location, e)

    def Enter(self, location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.calls[location].append(e.region)
        if self.is_segment(e.region):
            self.count["Enter"] -= 1
            self.count["segments"] += 1
            self.segments[location][e.region.name] -= e.time
            if len(self.calls[location]) != 2:
                self.wrong(f"{location.name}: {e.region.name} is in {len(self.calls[location]) - 1} regions")
        else:
            self.entered[location] = e.time
        if self.is_request(e.region):
            self.count["Enter"] -= 1  # the calls' alone
            self.count["request regions"] += 1
            self.request_ns -= e.time
        if self.is_server(e.region):
            self.count["Enter"] -= 1
            self.count["server regions"] += 1
            self.server_ns -= e.time
            if not location.name.startswith(f"{location.group.name} wait "):
                self.wrong(f"{location.name}: {e.region.name} is of no server")

    def Leave(self, location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        if not self.calls[location] or self.calls[location].pop() != e.region:
            self.wrong(f"{location.name} leaves {e.region.name}, which it is not in")
        if self.is_segment(e.region):
            self.segments[location][e.region.name] += e.time
        else:
            self.strata(location, e)
        if self.is_request(e.region):
            self.request_ns += e.time
        if self.is_server(e.region):
            self.server_ns += e.time

    @staticmethod
    def is_server(region: Any) -> bool:
        return region.name.startswith("server ")

    @staticmethod
    def is_segment(region: Any) -> bool:
        return region.name.startswith("stratum ")

    def strata(self, location: Any, e: Any) -> None:
        """At the end of an operation, or of a call without one: its segments are its strata."""
        attributes = {a.name: v for a, v in (e.attributes or {}).items()}
        self.count["strata"] += any(name.endswith("_NS") for name in attributes)
        segments = self.segments.pop(location, None)
        if not segments:
            return
        merged = attributes.get("IOSTRATA::SEGMENTS_MERGED", 0)
        self.count["merged"] += merged
        for name, ns in segments.items():
            self.segment_ns[name] += ns
        want = {f"stratum {name[10:-3].lower()}": v for name, v in attributes.items() if name.endswith("_NS")}
        # a call that began before the end of the one before begins late
        late = e.time - self.entered[location] < sum(want.values())
        self.count["late"] += late
        if merged or late or segments == want:
            return
        self.wrong(f"{location.name}: segments {dict(segments)} are not {want}")

    @staticmethod
    def is_request(region: Any) -> bool:
        return region.name.startswith("request ")

    def IoCreateHandle(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        if e.handle in self.open | self.closed:
            self.wrong(f"{e.handle.name} is made twice")
        self.open.add(e.handle)

    def IoDestroyHandle(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.usable(e.handle, e)
        self.open.discard(e.handle)
        self.closed.add(e.handle)

    def about_handle(self, name: str, handle: Any, e: Any) -> None:
        self.usable(handle, e)
        if handle.file:
            self.count[f"{name} {handle.file.name}"] += 1

    def IoDuplicateHandle(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.about_handle("IoDuplicateHandle", e.old_handle, e)
        if e.new_handle in self.open | self.closed or e.new_handle.file != e.old_handle.file:
            self.wrong(f"{e.new_handle.name} is made twice, or of another file")
        self.open.add(e.new_handle)

    def IoSeek(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.about_handle("IoSeek", e.handle, e)
        if str(e.whence).endswith("FROM_START") and e.offset_request != e.offset_result:
            self.wrong(f"{e.handle.name} is not where it was sent to: {e.offset_result}")

    def IoChangeStatusFlags(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.about_handle("IoChangeStatusFlags", e.handle, e)

    def IoAcquireLock(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.about_handle("IoAcquireLock", e.handle, e)
        if e.handle in self.locked:
            self.wrong(f"{e.handle.name} is locked twice")
        self.locked[e.handle] = str(e.lock_type)

    def IoReleaseLock(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.about_handle("IoReleaseLock", e.handle, e)
        if self.locked.pop(e.handle, None) != str(e.lock_type):
            self.wrong(f"{e.handle.name} gives up a lock that it has not")

    def IoTryLock(self, _location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.about_handle("IoTryLock", e.handle, e)

    def IoOperationBegin(self, location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        self.usable(e.handle, e)
        if e.matching_id in self.begun or e.matching_id in self.done:
            self.wrong(f"{e.matching_id} begins twice")
        self.begun[e.matching_id] = location, e.handle, e.mode
        if e.operation_flags.value & IoOperationFlag.NON_BLOCKING.value:
            self.non_blocking.add(e.matching_id)

    def IoOperationIssued(self, location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        if self.begun.get(e.matching_id, (None, None))[:2] != (location, e.handle):
            self.wrong(f"{e.matching_id} is issued and has not begun")
        if e.matching_id in self.issued or e.matching_id not in self.non_blocking:
            self.wrong(f"{e.matching_id} is issued twice, or blocks")
        self.issued.add(e.matching_id)

    def IoOperationComplete(self, location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        begun = self.begun.pop(e.matching_id, None)
        if not begun or begun[:2] != (location, e.handle):
            self.wrong(f"{e.matching_id} completes and has not begun there")
            return
        self.done.add(e.matching_id)
        self.strata(location, e)
        where = e.handle.file.name if e.handle.file else ""
        mode = str(begun[2]).rsplit(".", maxsplit=1)[-1]
        what = f"{mode} {e.handle.io_paradigm.name}"
        self.count[what] += 1
        if where and what.endswith(" POSIX") and e.matching_id in self.non_blocking:
            self.asynchronous(what, where, e)
        if e.bytes_result != UNDEFINED:
            self.bytes[where][mode] += e.bytes_result

    def asynchronous(self, what: str, where: str, e: Any) -> None:
        if e.matching_id not in self.issued:
            self.wrong(f"{e.matching_id} completes and was not issued")
        self.count[f"asynchronous {what}"] += 1
        if any(a.name == "OTF2::IO_ERRNO" for a in e.attributes or ()):
            self.count[f"failed {what}"] += 1
        elif e.bytes_result != UNDEFINED:
            self.count[f"bytes {what} {where}"] += e.bytes_result

    def IoOperationCancelled(self, location: Any, e: Any) -> None:  # pylint: disable=invalid-name
        if self.begun.pop(e.matching_id, (None, None))[:2] != (location, e.handle):
            self.wrong(f"{e.matching_id} is cancelled and has not begun there")
        self.done.add(e.matching_id)

    def end(self, definitions: Any, lean: bool) -> None:
        blocks = 0 if lean else sum(n for what, n in self.count.items() if what.endswith(" BLOCK"))
        if lean and (self.count["strata"] or self.count["segments"] or self.count["server regions"]):
            self.wrong("strata in a lean archive")
        if self.count["request regions"] != blocks:
            self.wrong(f"{self.count['request regions']} regions of {blocks} requests")
        if self.begun:
            self.wrong(f"{len(self.begun)} operations never complete")
        for location, calls in self.calls.items():
            if calls:
                self.wrong(f"{location.name} never leaves {calls[-1].name}")
        for location in definitions.locations:
            if location.number_of_events != self.events[location]:
                self.wrong(f"{location.name}: {self.events[location]} events, not "
                           f"{location.number_of_events}")


def main() -> int:
    checker = Checker()
    with otf2.reader.open(sys.argv[1]) as trace:
        for location, event in trace.events:
            checker.look(location, event)
        checker.end(trace.definitions, sys.argv[2:] == ["lean"])
    print(json.dumps({"problems": len(checker.problems), "first": checker.problems[:3],
                      "bytes": checker.bytes, "count": checker.count, "request_ns": checker.request_ns,
                      "server_ns": checker.server_ns, "segment_ns": checker.segment_ns}))
    return bool(checker.problems)


if __name__ == "__main__":
    sys.exit(main())
