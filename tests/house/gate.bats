# SPDX-License-Identifier: GPL-2.0-only
# The gate and its oracles notice wrong figures: all comparisons go through these few functions.

load lib

gate() { # Python from stdin, with the gate's modules
	{ cat <<-'PY'; cat; } | PYTHONPATH=tests/gate python3 -
		import contextlib, importlib.machinery, io, json, sys, time
		sys.dont_write_bytecode = True
		import harness, invariants, machine, oracles, tool
		from harness import Gate, Skip, Suite


		def told(run, native=False, limit_s=60):
		    """The statuses and figures of what a suite tells, and how the gate counts them."""
		    harness.SUITES[:] = [Suite("s", limit_s, run)]
		    results, out = io.StringIO(), io.StringIO()
		    gate = Gate(None, native, results)
		    with contextlib.redirect_stdout(out):
		        harness.run_suites(gate)
		    lines = [line for line in out.getvalue().splitlines() if not line.startswith("      ")]
		    found = [json.loads(line) for line in results.getvalue().splitlines()]
		    assert [line.split()[:2] for line in lines] == [[r["status"], r["name"]] for r in found], (lines, found)
		    assert gate.count == {s: sum(r["status"] == s for r in found) for s in ("ok", "FAIL", "skip")}
		    return [(r["status"], r["name"]) for r in found]
	PY
}

@test "gate: an untrue check and a suite that breaks off are failures" {
	gate <<-'PY'
		def both(gate):
		    gate.stack.callback(undone.append, 1)
		    assert gate.check("good", True, n=1) and not gate.check("bad", False, n=2)
		undone = []
		assert told(both) == [("ok", "s.good"), ("FAIL", "s.bad")] and undone == [1]

		def breaks(gate, error):
		    gate.stack.callback(undone.append, 2)
		    gate.check("good", True)
		    raise error
		for error in (harness.Broken("x"), KeyError("x"), AssertionError()):
		    assert told(lambda gate, error=error: breaks(gate, error)) == [("ok", "s.good"), ("FAIL", "s.all")]
		assert told(lambda gate: breaks(gate, Skip("x"))) == [("ok", "s.good"), ("skip", "s.all")]
		assert undone == [1, 2, 2, 2, 2]
		harness.patience = lambda: 1
		assert told(lambda gate: time.sleep(9), limit_s=1) == [("FAIL", "s.all")]
	PY
}

@test "a busy machine makes limits of time longer, and nothing else" {
	gate <<-'PY'
		import os, pathlib, subprocess, types
		os.getloadavg, os.cpu_count = lambda: (load, load, load), lambda: 2
		for load, guest, wanted in ((0, "", 1), (3, "", 1.5), (25, "", 12.5), (0, "6", 6), (25, "6", 12.5)):
		    os.environ["PATIENCE"] = guest
		    assert harness.patience() == wanted, (load, guest)
		def slow(gate):
		    time.sleep(1.5)
		    gate.check("done", True)
		load = 6
		assert told(slow, limit_s=1) == [("ok", "s.done")]

		# a mount that stays busy is unmounted all the same
		machine.patience = lambda: 0.01
		machine.subprocess = types.SimpleNamespace(run=lambda *_, **__: types.SimpleNamespace(returncode=1), DEVNULL=0)
		pathlib.Path.is_mount = lambda _: True
		done = []
		machine.run = lambda *argv: done.append(argv)
		machine.unmount(pathlib.Path("/x"))
		assert done == [("umount", "--lazy", "/x")]
	PY
}

@test "gate: natively, wrong figures are tried again a few times, errors are not" {
	gate <<-'PY'
		def tries(good_at, error=None):
		    runs = []
		    def run(gate):
		        runs.append(1)
		        if len(runs) < good_at and error:
		            raise error
		        gate.check("figures", len(runs) >= good_at)
		    return told(run, native=True)[0][0], len(runs)
		assert tries(1) == ("ok", 1) and tries(3) == ("ok", 3) and tries(4) == ("FAIL", 3)
		assert tries(2, harness.Broken("x")) == ("FAIL", 1)

		def breaks(gate):
		    runs.append(1)
		    gate.check("figures", False)
		    raise harness.Broken("x")
		runs = []
		assert told(breaks, native=True) == [("FAIL", "s.figures"), ("FAIL", "s.all")] and len(runs) == 1
	PY
}

@test "gate: failed checks, or none at all, set the exit status" {
	gate <<-'PY'
		loader = importlib.machinery.SourceFileLoader("run", "tests/gate/run")
		run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
		loader.exec_module(run)
		run.os.geteuid, run.os.access, run.leftovers.sweep = lambda: 0, lambda *_: True, lambda: []
		run.tool.take, run.machine.scratch = lambda _: None, lambda _: None

		def status(*oks):
		    harness.SUITES[:] = [Suite("s", 60, lambda gate: [gate.check("x", ok) for ok in oks] and None)]
		    sys.argv[1:] = []
		    with contextlib.redirect_stdout(io.StringIO()) as out:
		        code = run.main()
		    assert out.getvalue().endswith(f"{sum(oks)} passed, {len(oks) - sum(oks)} failed, 0 skipped\n")
		    return code
		assert status(True) == 0 and status(True, False) == 1 and status(False, True) == 1 and status() == 1
	PY
}

@test "gate: an unsupported option of null_blk is a skip" {
	dir=$BATS_TEST_TMPDIR gate <<-'PY'
		import os, pathlib
		machine.CONFIGFS = pathlib.Path(os.environ["dir"])
		machine.CONFIGFS.joinpath("nullb").mkdir()
		machine.need_module = machine.note = lambda *_: None
		os.path.ismount, machine._null_blk_remove = lambda _: True, pathlib.Path.rmdir
		assert told(lambda gate: machine.null_blk(gate.stack, gate.kept)) == [("skip", "s.all")]
	PY
}

@test "gate: differing requests and operations fail the comparison" {
	gate <<-'PY'
		import pathlib
		class Disk:
		    name, sys = "vda", pathlib.Path("/nonexistent")
		class Trace:
		    def __init__(self, **found):
		        self.found = found  # by kind: count and bytes
		    def lost(self):
		        return {"unmatched_requests": 1}
		    def total(self, member, rows, op, dev):
		        assert rows == "requests" and dev == "vda"
		        return self.found.get(op, (0, 0))[member == "bytes"]
		oracles.longest = lambda disk, op: 4096

		def same(native=False, failed_bytes=0, **found):
		    ios = {"R": 3, "W": 5, "D": 2, "F": 1}
		    stat = oracles.DiskStat(ios, {"R": 24, "W": 40, "D": 16, "F": 0}, {}, {"R": 0, "W": 1, "D": 0})
		    def run(gate):
		        oracles.compare_requests(gate, "x", Disk, stat, Trace(**found), failed_bytes=failed_bytes)
		    return told(run, native)[0][0] == "ok"
		good = {"R": (3, 12288), "W": (5, 20480), "D": (2, 8192), "F": (1, 0)}
		assert same(**good) and not same() and same(failed_bytes=512, **good | {"R": (3, 11776)})
		for op, (count, size) in good.items():
		    for wrong in ((count - 1, size), (count + 1, size), (count - 1, size - size // count)):
		        assert not same(**good | {op: wrong}), (op, wrong)
		    assert same(native=True, **good | {op: (count - 1, size - size // count)}), op
		    if size:
		        for wrong in ((count, size - 512), (count, size + 512)):
		            assert not same(**good | {op: wrong}) and not same(native=True, **good | {op: wrong}), (op, wrong)
		assert not same(native=True, **good | {"R": (2, 8192), "W": (4, 16384)})

		def classes(ours, theirs):
		    return told(lambda gate: oracles.compare_classes(gate, "x", ours, theirs))[0][0] == "ok"
		a, b = {"read": (3, 12288, 0)}, {"read": (3, 12288, 0), "write": (1, 1, 0)}
		assert classes(a, a) and classes(b, b) and not classes(a, b) and not classes(b, a) and not classes({}, {})
		for i in range(3):
		    assert not classes(a, {"read": tuple(n + (i == at) for at, n in enumerate(a["read"]))}), i
	PY
}

@test "gate: each rule for all rows fails on a row that breaks it" {
	gate <<-'PY'
		import checks_last
		op = {"op": "read", "fs": "ext4", "key": None, "cache": None, "count": 2, "errors": 0, "bytes": 8192,
		      "total_ns": 30, "max_ns": 20, "p50_ns": 10, "p90_ns": 20, "p99_ns": 20, "p999_ns": 20,
		      "strata": {"syscall": 10, "vfs": 20, "fs": None}, "hist": [[10, 10, 1], [20, 20, 1]]}
		rq = {"dev": "vda", "op": "R", "key": None, "count": 1, "errors": 0, "bytes": 4096, "requeues": 0,
		      "unqueued": 0, "outside": 0, "device_ns": 9, "tag_ns": 1, "queue_ns": 2, "max_ns": 9,
		      "hist": [[9, 9, 1]]}
		slow = {"op": "read", "call": "read", "path": "/x", "total_ns": 20, "strata": {"syscall": 20, "fs": None}}
		time_of = {"pid": 5, "comm": "kworker", "work": "w", "for_pid": None, "for_comm": None, "on_behalf": None,
		           "cpu_ns": 3, "waited_ns": 4}
		helper = time_of | {"dev": "vda", "op": "W", "count": 1, "errors": 0, "tag_ns": 1, "queue_ns": None,
		                    "device_ns": 2, "total_ns": 3}
		good = {"missing": [], "duration_ns": 100, "ops": [op], "layers": [], "minor_faults": None, "requests": [rq],
		        "slowest": [slow], "helpers": [helper], "helper_times": [time_of], "lost": {"ring": 0}}

		def broken(one):
		    """The rules that @one breaks, which every_row() tells then."""
		    invariants.looked_at.update(dict.fromkeys(invariants.rules, 0))
		    for found in invariants.violations.values():
		        found.clear()
		    invariants.look(one, 1000, "")
		    rules = {rule for rule, found in invariants.violations.items() if found}
		    checks = told(checks_last.every_row)
		    assert {name for status, name in checks if status == "FAIL"} == {f"{rule}.every-row" for rule in rules}
		    return rules
		assert not broken(good)
		for where, wrong, rule in (
		        ("ops", {"count": 0}, "A1.rows"), ("ops", {"errors": 3}, "A1.rows"), ("ops", {"bytes": -1}, "A2.range"),
		        ("ops", {"total_ns": 31}, "A4.sum"), ("ops", {"strata": op["strata"] | {"vfs": 21}}, "A4.sum"),
		        ("ops", {"strata": op["strata"] | {"syscall": 31, "vfs": -1}}, "A2.range"),
		        ("ops", {"strata": op["strata"] | {"device": None}}, "A1.rows"), ("ops", {"max_ns": 41}, "A2.range"),
		        ("ops", {"max_ns": 14, "p90_ns": 14, "p99_ns": 14, "p999_ns": 14}, "A2.range"),
		        ("ops", {"p99_ns": 21}, "A5.order"), ("ops", {"p50_ns": 21}, "A5.order"),
		        ("ops", {"hist": [[10, 10, 2], [20, 20, 1]]}, "A5.histogram"),
		        ("ops", {"hist": [[10, 10, 1], [19, 19, 1]]}, "A5.histogram"),
		        ("ops", {"hist": [[20, 20, 1], [10, 10, 1]]}, "A5.histogram"),
		        ("ops", {"hist": [[10, 12, 1], [20, 20, 1]]}, "A5.histogram"),
		        ("requests", {"max_ns": 1001}, "A2.range"), ("requests", {"errors": 2}, "A1.rows"),
		        ("requests", {"outside": 2}, "A1.rows"), ("requests", {"unqueued": 2}, "A1.rows"),
		        ("requests", {"device_ns": 10}, "A5.histogram"), ("requests", {"tag_ns": -1}, "A2.range"),
		        ("slowest", {"total_ns": 21}, "A4.sum"), ("slowest", {"strata": {"syscall": None}}, "A1.rows"),
		        ("helpers", {"tag_ns": 2}, "A4.sum"), ("helpers", {"errors": 2}, "A1.rows"),
		        ("ops", {"count": 3}, "A5.histogram"), ("helpers", {"pid": 0}, "A1.rows"),
		        ("helpers", {"for_pid": 7}, "A1.rows"), ("helper_times", {"waited_ns": 98}, "A2.range")):
		    assert rule in broken(good | {where: [good[where][0] | wrong]}), (where, wrong, rule)
		for where in ("ops", "requests", "helpers", "helper_times"):
		    assert broken(good | {where: good[where] * 2}) == {"A1.rows"}, where
		assert broken(good | {"duration_ns": 1001}) == {"A2.range"} == broken(good | {"lost": {"ring": -1}})
	PY
}
