# SPDX-License-Identifier: GPL-2.0-only
"""An oracle that knows no system calls: each sleep of some threads, from the kernel's own trace buffer, with the
functions of the kernel in which the thread slept and in which it was woken."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import leftovers
import machine
from harness import Broken, Gate, Skip

TRACING = Path("/sys/kernel/tracing")
EVENTS = ("sched_switch", "sched_waking", "sched_process_fork")
KIB = 24 << 10  # of each CPU's buffer

_LINE = re.compile(rf" *.*-\d+ +\[(\d+)\] \S+ +(\d+)\.(\d+): (?:(<stack trace>)|({'|'.join(EVENTS)}): (.*))")
_SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> .* next_pid=(\d+) next_prio=")
_FORK = re.compile(r".* child_pid=(\d+)")
_WAKING = re.compile(r"comm=.* pid=(\d+) prio=")

# A sleep with such a function is for storage: for a request, a folio, a journal, a server, a lock of a file.
STORAGE = re.compile(
    r"(^| )(io_schedule|io_schedule_timeout|bit_wait_io|blk_io_schedule|submit_bio_wait|__wait_on_buffer|"
    r"folio_wait_\w+|wait_on_page_\w+|__lock_page\w*|__folio_lock\w*|filemap_update_page|"
    r"jbd2_log_wait_commit|jbd2_journal_commit_transaction|wait_transaction_\w+|add_transaction_credits|"
    r"wb_wait_for_completion|__writeback_inodes_sb_nr|rq_qos_wait|blk_mq_get_tag|balance_dirty_pages\w*|"
    r"request_wait_answer|flock_lock_inode_wait|locks_lock_inode_wait|__do_sys_flock|blkdev_issue_\w+)( |$)")

# Sleeps that are no I/O, whoever ends them.
NO_IO = {
    "vfork": re.compile(r"wait_for_completion\w* (wait_for_vfork_done )?kernel_clone"),
    "mmap_lock": re.compile(r"rwsem_down_\w+ .*(vm_mmap_pgoff|__vm_munmap|_sys_brk|do_mprotect_pkey)"),
    "RCU": re.compile(r"synchronize_rcu|wait_rcu_gp|__wait_rcu_gp"),
}


@dataclass
class Sleep:
    """From @off to @wake, CLOCK_MONOTONIC in ns; the thread had its CPU again at @on. Or somebody took the CPU away."""
    tid: int
    comm: str
    off: int
    wake: int
    on: int
    stack: str
    waker: str
    preempted: bool

    @property
    def for_storage(self) -> bool:
        return bool(STORAGE.search(self.stack)) and not self.no_io and not self.preempted

    @property
    def no_io(self) -> str:
        """What it was, if it was no I/O."""
        return next((name for name, where in NO_IO.items() if where.search(self.stack) and not self.preempted), "")


@dataclass
class _Event:
    name: str
    ns: int
    members: str
    stack: list[str]  # functions, innermost first


def _events(text: Iterator[str]) -> list[_Event]:
    """All events. The stack of one has a line of its own, before which there may be an event of another CPU."""
    events: list[_Event] = []
    last: dict[str, _Event] = {}  # by CPU
    stack: list[str] = []
    for line in text:
        if line.startswith(" => "):
            stack.append(line[4:].split("+")[0].strip())
            continue
        found = _LINE.match(line)
        if found and found[4]:
            stack = last[found[1]].stack if found[1] in last else []
        elif found:
            event = _Event(found[5], int(found[2]) * 10**9 + int(found[3].ljust(9, "0")), found[6], [])
            last[found[1]] = event
            events.append(event)
    return events


def _sleeps(text: Iterator[str], first: int) -> list[Sleep]:
    """The sleeps of thread @first and its descendants: the events are those of others, too."""
    asleep: dict[int, Sleep] = {}
    ours = {first}
    done: list[Sleep] = []
    for event in _events(text):
        ns, members, stack = event.ns, event.members, " ".join(event.stack)
        if event.name == "sched_waking":
            found = _WAKING.match(members)
            sleep = asleep.get(int(found[1])) if found else None
            if sleep and not sleep.wake:
                sleep.wake, sleep.waker = ns, stack
            continue
        if event.name == "sched_process_fork":
            found = _FORK.match(members)
            ours |= {int(found[1])} if found else set()
            continue
        found = _SWITCH.match(members)
        if not found:
            raise Broken(f"the kernel writes sched_switch in another way: {members}")
        tid, state = int(found[2]), found[3]
        if tid in ours and not state.startswith(("X", "Z")):
            asleep[tid] = Sleep(tid, found[1], ns, 0, 0, stack, "", state.startswith("R"))
        sleep = asleep.pop(int(found[4]), None)
        if sleep:
            sleep.on = ns
            sleep.wake = sleep.wake or sleep.off  # woken on the way to sleep
            done.append(sleep)
    return done


class Oracle:
    """Notes the sleeps of a process and of all that it starts."""

    def __init__(self, gate: Gate) -> None:
        self._first = 0
        self._at = TRACING / "instances" / f"iostrata-gate-{os.getpid()}"
        if not (TRACING / "instances").exists():
            raise Skip("no tracefs")
        machine.note(gate.stack, self._at, leftovers.RMDIR)
        self._at.mkdir()
        gate.stack.callback(self._at.rmdir)
        for file, value in (("trace_clock", "mono"), ("buffer_size_kb", KIB), ("options/event-fork", 1),
                            ("options/stacktrace", 1), ("tracing_on", 0)):
            if not (self._at / file).exists():
                raise Skip(f"tracefs has no {file}")
            machine.put(self._at / file, value)

    def begin(self, pid: int) -> None:
        self._first = pid
        machine.put(self._at / "set_event_pid", pid)
        for event in EVENTS:
            machine.put(self._at / "events/sched" / event / "enable", 1)
        machine.put(self._at / "tracing_on", 1)

    def end(self) -> list[Sleep]:
        machine.put(self._at / "tracing_on", 0)
        with open(self._at / "trace", encoding="utf-8", errors="replace") as text:
            head = [next(text, "") for _ in range(3)]
            counts = next((re.findall(r"(\d+)/(\d+)", line)[0] for line in head if "entries-in-buffer" in line), None)
            if not counts or counts[0] != counts[1]:
                raise Broken(f"the trace buffer lost events: {head}")
            return _sleeps(text, self._first)
