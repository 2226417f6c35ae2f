# SPDX-License-Identifier: GPL-2.0-only
# Filters of I/O: by process, name, kind, file and cgroup; one or several.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib

setup() { begin_in_dir; }

teardown() {
	end_in_dir
	[[ -z ${group:-} ]] || remove_groups
	[[ -z ${one:-} ]] || rmdir "$one" "$two" 2>/dev/null || true
}

# Python that reads FILE so many times when a line comes; leaves $spawned_pid, its stdin is $tmp/NAME.
reader() { # NAME FILE TIMES
	mkfifo "$tmp/$1"
	spawn "$python" -c 'import os, sys
open("/proc/self/comm", "w").write(sys.argv[1])
f = os.open(sys.argv[2], os.O_RDONLY)
open(sys.argv[4])
for i in range(int(sys.argv[3])): os.pread(f, 1, 0)' "$1" "$2" "$3" "$tmp/$1"
	wait_until grep -qx "$1" "/proc/$spawned_pid/comm"
}

go() { : >"$tmp/$1"; } # NAME

reads() { jq '[.ops[] | select(.op == "read") | .count] | add // 0' "$1"; }

@test "-p: a thread's id is refused, and its process named" {
	spawn "$python" -c 'import sys, threading, time
def run():
	open(sys.argv[1], "w").write(str(threading.get_native_id()))
	time.sleep(60)
threading.Thread(target=run).start()' "$tmp/tid"
	wait_until test -s "$tmp/tid"
	tid=$(cat "$tmp/tid")
	expect 1 breakdown -p "$tid" -D 1
	says "$tid is a thread of process $spawned_pid" "-p $spawned_pid"
}

@test "-p: a kernel thread gets a warning that it makes no system calls" {
	kthread=$(ps -o pid= --ppid 2 | head -n 1)
	[[ -n $kthread ]] || skip "no kernel threads are seen here"
	expect 0 breakdown -p "$((kthread))" -D 0.1
	[[ $stderr == *"warning: $((kthread)) is a kernel thread"* ]]
	expect 0 breakdown -p $$ -D 0.1
	[[ $stderr != *warning* ]]
}

@test "-p: the end of the process is reported" {
	spawn sleep 0.5
	expect 0 breakdown -p "$spawned_pid"
	[[ $stderr == *$'\n'"process $spawned_pid has ended" ]]
}

@test "-p: several processes are traced until the last one ends" {
	echo text >"$dir/file"
	reader one "$dir/file" 23
	pids=$spawned_pid
	reader two "$dir/file" 101
	pids+=,$spawned_pid
	reader three "$dir/file" 7
	last=$spawned_pid
	reader none "$dir/file" 1009
	start breakdown -j --file "$dir/file" -p "$pids" -p "$last"
	go none
	go one
	go two
	sleep 1
	not has_ended
	go three
	ends_within 10
	[[ $(reads "$tmp/out") == $((23 + 101 + 7)) ]]
}

@test "--comm: several names are traced" {
	echo text >"$dir/file"
	for name in one two three none; do reader $name "$dir/file" 23; done
	start breakdown -j --file "$dir/file" --comm one,two --comm three
	for name in one two three none; do go $name; done
	sleep 0.5
	finish INT
	[[ $(reads "$tmp/out") == $((3 * 23)) ]]
}

@test "--op: several kinds are traced" {
	"$iostrata" breakdown -j --op read,fsync --op open -- dd if=/dev/zero of="$dir/file" bs=4k count=23 \
		conv=fsync status=none >"$tmp/out"
	[[ $(jq -r '[.ops[].op] | unique | join(" ")' "$tmp/out") == "fsync open read" ]]
}

@test "-d: several disks are traced, and an unknown one is refused" {
	disk=$(lsblk -nrdo NAME | head -n 1)
	[[ -n $disk ]] || skip "no disk"
	expect 0 breakdown -j -D 0.1 -d "$disk" -d "$disk,/dev/$disk"
	expect 1 breakdown -D 1 -d "$disk,nosuchdisk"
	says "no disk, mount or server is called 'nosuchdisk'"
}

@test "--file: a directory means all files below it, and several files work" {
	mkdir -p "$dir/a/b/c" "$dir/ab"
	for file in a/1 a/b/2 a/b/c/3 ab/4 5 6; do echo text >"$dir/$file"; done
	files() { # OPTIONS...: whose reads are seen
		"$iostrata" breakdown -j --op read --by file "$@" -- \
			cat "$dir"/a/1 "$dir"/a/b/2 "$dir"/a/b/c/3 "$dir"/ab/4 "$dir"/5 "$dir"/6 | cat >"$tmp/all"
		grep schema "$tmp/all" | jq -r '.ops[].key' | sed "s,^$dir/,," | sort | xargs
	}
	[[ $(files --file "$dir/a") == "a/1 a/b/2 a/b/c/3" ]]
	[[ $(files --file "$dir/a/b/") == "a/b/2 a/b/c/3" ]]
	[[ $(files --file "$dir/a/b/../../ab") == "ab/4" ]]
	[[ $(files --file "$dir/5" --file "$dir/6" --file "$dir/a/b/c") == "5 6 a/b/c/3" ]]
	[[ $(files --file "$dir") == "5 6 a/1 a/b/2 a/b/c/3 ab/4" ]]
}

@test "--file: a file opened earlier below the directory is traced" {
	mkdir -p "$dir/a/b"
	echo text >"$dir/a/b/file"
	reader one "$dir/a/b/file" 23
	start breakdown -j --file "$dir/a"
	mv "$dir/a/b" "$dir/b" # it is where it is now
	mv "$dir/b" "$dir/a/c"
	go one
	sleep 0.5
	finish INT
	[[ $(reads "$tmp/out") == 23 ]]
}

# ---- requests, and filters that do not work on them ----

@test "filters: one without effect is refused, one for operations only is reported" {
	local -A hints=(
		["breakdown -T blk"]="-p, .* and -d filter requests; .* leave out -T blk$"
		["record --requests"]="-p, .* and -d filter requests; .* leave out --requests$"
		["top -b"]="full screen and --json have operations"
		["report -T blk"]="-p, .* and -d filter requests; .* leave out -T blk$")
	echo text >"$dir/file"
	for args in "--op read" "--min 1ms" "--file $dir/file" "--fs ext4"; do
		# shellcheck disable=SC2086 # words
		for command in "breakdown -T blk" "record --requests" "top -b" "report -T blk"; do
			[[ $command != report* || $args != --file* ]] || continue
			expect 2 $command $args $([[ $command == report* ]] && echo "$dir/file" || echo -D 0.1)
			says " is about requests, but only operations are filtered by ${args%% *}" "${hints[$command]}"
		done
	done
	for command in "breakdown -T blk" "record --requests" "top -b"; do
		# shellcheck disable=SC2086 # words
		expect 2 $command -D 0.1 --all-files
		says "is about requests, --all-files about operations" "${hints[$command]}"
		expect 2 $command -D 0.1 --all-faults
		says "is about requests, --all-faults about operations" "${hints[$command]}"
	done
	for args in "-H" "-v" "--by file" "--slowest 3" "--json" "--every 1"; do
		# shellcheck disable=SC2086 # words
		expect 2 report --events csv $args "$dir/file"
		says "--events lists records, ${args%% *}.* is about tables"
	done
}

@test "filters: one for operations only is reported, on the screen or on stderr" {
	told="only operations are filtered by --op, --min"
	filters=(--op write,fsync --min 1ns)
	write=(dd if=/dev/zero of="$dir/file" bs=4k count=23 conv=fsync status=none)
	expect 0 breakdown -o - "${filters[@]}" -- "${write[@]}"
	[[ $output == *"$told"* && $stderr != *"$told"* ]]
	expect 0 breakdown -o - -v "${filters[@]}" -- "${write[@]}"
	tr '\n' ' ' <<<"$output" | tr -s ' ' | grep -qF "$told"
	expect 0 breakdown -j "${filters[@]}" -- "${write[@]}"
	[[ $stderr == *"warning: $told"* ]]
	expect 0 top -j "${filters[@]}" -- "${write[@]}"
	[[ $stderr == *"warning: $told"* ]]
	expect 0 record -o "$dir/trace" "${filters[@]}" -- "${write[@]}"
	[[ $stderr == *"warning: $told"* ]]
	expect 0 report "${filters[@]}" "$dir/trace"
	[[ $output == *"$told"* ]]
	expect 0 report --events csv "${filters[@]}" "$dir/trace"
	[[ $stderr == *"warning: $told"* ]]
	# where none are shown, or a filter chooses them, there is nothing to tell
	expect 0 breakdown -j -T syscall "${filters[@]}" -- "${write[@]}"
	[[ $stderr != *warning* ]]
	expect 0 record --ops --force -o "$dir/trace" "${filters[@]}" -- "${write[@]}"
	[[ $stderr != *warning* ]]
	expect 0 breakdown -j --comm dd -- "${write[@]}"
	[[ $stderr != *warning* ]]
}

@test "--fs: top and record filter by it" {
	echo text >"$dir/file"
	type=$(stat -f -c %T "$dir/file")
	[[ $type != ext2/ext3 ]] || type=ext4
	read_both=(sh -c 'cat "$0/file" /proc/self/status >/dev/null' "$dir")
	expect 0 record -o "$dir/trace" --fs proc -- "${read_both[@]}"
	expect 0 report -j "$dir/trace"
	json '.ops | length > 0 and all(.fs == "proc")'
	expect 0 record --force -o "$dir/trace" -- "${read_both[@]}"
	expect 0 report -j "$dir/trace"
	json '[.ops[].fs] | index("proc") != null and index("'"$type"'") != null'
	expect 0 top -j --by comm --fs "$type" -- "${read_both[@]}"
	json '.ops | length > 0'
	some=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 top -j --by comm -- "${read_both[@]}"
	all=$(jq '[.ops[].count] | add' <<<"$output")
	((some > 0 && some < all))
}

# ---- cgroups ----

remove_groups() {
	wait_until rmdir "$group/below" 2>/dev/null
	wait_until rmdir "$group" 2>/dev/null
}

# Makes $group, whose name is $name, with "below" in it, in $root.
make_group() {
	root=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	[[ -n $root ]] || skip "no cgroup v2 is mounted"
	name=iostrata-test-$$
	group=$root/$name
	mkdir -p "$group/below"
}

in_group() { # DIR COMMAND...
	sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$@"
}

@test "--cgroup: each path to a cgroup is accepted" {
	make_group
	echo text >"$dir/file"
	for path in "$name" "/$name" "./$name" "$name/" "$name/." "nosuch/../$name" "$name/below/.." "$group" \
		"$root/./$name" "../${root##*/}/$name" "//$name"; do
		[[ $path != nosuch* ]] || path=$name/below/../../$name
		start breakdown -j --file "$dir/file" --cgroup "$path"
		in_group "$group" cat "$dir/file" >/dev/null
		in_group "$group/below" cat "$dir/file" "$dir/file" >/dev/null
		cat "$dir/file" "$dir/file" "$dir/file" "$dir/file" >/dev/null
		finish INT
		[[ $(jq '[.ops[] | select(.op == "open") | .count] | add' "$tmp/out") == 3 ]] ||
			{ echo "--cgroup $path:"; cat "$tmp/out"; false; }
	done
	(cd "$group" && expect 0 breakdown --cgroup below -D 0.1 && expect 0 breakdown --cgroup . -D 0.1)
}

@test "--cgroup: a directory that is not a cgroup is refused" {
	make_group
	for path in ../../../../root ../.. /tmp "$name/nosuch" "$name/cgroup.procs" "$root/.." nosuch; do
		expect 1 breakdown --cgroup "$path" -D 0.1
		says "no such cgroup '$path'"
	done
}

@test "--cgroup: several cgroups are traced" {
	make_group
	mkdir "$group/other" "$group/third"
	echo text >"$dir/file"
	start breakdown -j --file "$dir/file" --cgroup "$name/below" --cgroup "$name/other"
	in_group "$group/below" cat "$dir/file" >/dev/null
	in_group "$group/other" cat "$dir/file" "$dir/file" >/dev/null
	in_group "$group/third" cat "$dir/file" "$dir/file" "$dir/file" "$dir/file" >/dev/null
	finish INT
	wait_until rmdir "$group/other" "$group/third" 2>/dev/null
	[[ $(jq '[.ops[] | select(.op == "open") | .count] | add' "$tmp/out") == 3 ]]
}

@test "--cgroup: a cgroup inside a cgroup namespace is found" {
	make_group
	echo text >"$dir/file"
	mkdir "$tmp/root"
	in_group "$group" unshare --cgroup --mount sh -c 'mount -t cgroup2 none "$1" || exit 77
		exec "$0" breakdown -j --file "$2" --cgroup /below -- sh -c "
			cat \"\$1\"
			echo \$\$ >\"\$0/below/cgroup.procs\"
			cat \"\$1\" \"\$1\"
			echo \$\$ >\"\$0/cgroup.procs\"" "$1" "$2"' \
		"$iostrata" "$tmp/root" "$dir/file" >"$tmp/all" || status=$?
	((${status:-0} != 77)) || skip "cgroup v2 cannot be mounted again"
	grep schema "$tmp/all" >"$tmp/out"
	[[ $(jq '[.ops[] | select(.op == "open") | .count] | add' "$tmp/out") == 2 ]]
}

@test "--by cgroup: paths begin at the root of the hierarchy" {
	make_group
	echo text >"$dir/file"
	start breakdown -j --file "$dir/file" --by cgroup
	in_group "$group/below" cat "$dir/file" >/dev/null
	in_group "$root" cat "$dir/file" >/dev/null
	finish INT
	json --arg name "/$name/below" '[.ops[].key] | unique == ["/", $name]' "$tmp/out"
}

@test "--file, --fs, -d: it is told if they leave out calls by absolute path" {
	echo text >"$dir/file"
	there=$("$iostrata" doctor -j | jq '.findings[] | select(.what == "files of paths") | .works')
	[[ $there == true || $there == false ]]
	for filter in "--file $dir/file" "--fs ext4" "-d $(df --output=target "$dir" | tail -1)"; do
		"$iostrata" breakdown -j -o "$tmp/out" $filter -- stat "$dir/file"
		json '(.missing | index("paths") == null) == '"$there" "$tmp/out"
		rm "$tmp/out"
		expect 0 breakdown -v $filter -- stat "$dir/file"
		said=$(tr -s ' \n' ' ' <<<"$stderr")
		[[ $there == true || $said == *"calls by absolute path (left out by --fs, -d and --file) ("* ]]
	done
	"$iostrata" breakdown -j -o "$tmp/out" -- stat "$dir/file"
	json '.missing | index("paths") == null' "$tmp/out"
	# a recording has their path
	expect 0 record -o "$tmp/r" -- stat "$dir/file"
	expect 0 report -j --file "$dir/file" "$tmp/r"
	json '[.ops[] | select(.op == "meta") | .count] | add >= 1'
}

@test "--op: missing figures are listed as without it" {
	for command in "breakdown -D 0.1" "top 0.1 1"; do
		for op in '' close fault; do
			expect 0 $command -j ${op:+--op $op}
			layers=$(jq -c '[.missing - ["aio", "uring", "faults"], ([.strata.vfs, .strata.fs] | map(. == null))]' \
				<<<"$output")
			: "${without:=$layers}"
			[[ $layers == "$without" ]] || { echo "$command $op: $layers, not $without"; false; }
		done
		unset without
	done
}

# One child is there before, and has a child of its own; the other comes when the tool traces.
@test "--children: descendants are traced; without it, they are counted" {
	echo text >"$dir/file"
	mkfifo "$tmp/go"
	spawn "$python" -c 'import os, sys, time
def reads(n):
	f = os.open(sys.argv[1], os.O_RDONLY)
	for i in range(n): os.pread(f, 1, 0)
	os._exit(0)
if not os.fork():
	if not os.fork():
		open(sys.argv[2])
		reads(23)
	os.wait()
	os._exit(0)
open(sys.argv[2])
if not os.fork(): reads(101)
while True:
	try: os.wait()
	except ChildProcessError: break
reads(7)' "$dir/file" "$tmp/go"
	server=$spawned_pid
	wait_until pgrep -P "$server"
	wait_until pgrep -P "$(pgrep -P "$server")"
	expect 0 breakdown -p "$server" -D 0.1
	[[ $stderr == *"process $server has 2 children that are not traced: --children traces them"* ]]
	expect 2 breakdown --children -D 0.1
	says "--children has no meaning without -p"
	start breakdown -j -p "$server" --children --by pid --op read --file "$dir/file"
	: >"$tmp/go"
	ends_within 10
	json '[.ops[].count] | sort == [7, 23, 101]' "$tmp/out"
	json '.lost.map_full == 0' "$tmp/out"
	! grep -q 'not traced' "$tmp/err"
}

@test "--op: names of system calls work, alone and with kinds, live and for recordings" {
	: >"$dir/file"
	calls=("$python" -c 'import os, sys
f = os.open(sys.argv[1], os.O_RDWR)
for i in range(23): os.fdatasync(f)
for i in range(7): os.fsync(f)
for i in range(5): os.stat(sys.argv[1], follow_symlinks=False)
for i in range(3): os.fstatvfs(f)
for i in range(11): os.write(f, b"x")' "$dir/file")
	expect 0 breakdown -j -v --op fdatasync -- "${calls[@]}"
	json '[.ops[] | [.op, .call, .count]] == [["fsync", "fdatasync", 23]]'
	expect 0 breakdown -j -v --op fdatasync,statfs,write --file "$dir/file" -- "${calls[@]}"
	json '[.ops[] | [.op, .count]] | sort == [["fsync", 23], ["meta", 3], ["write", 11]]'
	expect 0 breakdown -j --op fsync --op fdatasync -- "${calls[@]}"
	json '[.ops[].count] == [30]'
	expect 0 record -o "$tmp/a.ios" --op write,fdatasync,fsync -- "${calls[@]}"
	expect 0 report -j --op fdatasync "$tmp/a.ios"
	json '[.ops[].count] == [23]'
	expect 0 report -j --op fdatasync,stat,write "$tmp/a.ios"
	json '[.ops[].count] | sort == [11, 23]'
	expect 2 breakdown --op fdatasnyc -D 1
	says "no operation is called 'fdatasnyc'" "did you mean 'fdatasync'"
	expect 2 breakdown -T vfs --op stat -D 1
	says "-T vfs knows no system calls"
}

@test "--fs: several types are accepted" {
	both=("$python" -c 'import sys
for i in range(23): open("/proc/self/stat").read(1)
for i in range(7): open("/sys/kernel/fscaps").read(1)
for i in range(5): open(sys.argv[1]).close()' "$dir")
	: >"$dir/file"
	both[3]=$dir/file
	expect 0 breakdown -j --fs proc,sysfs --op read -- "${both[@]}"
	json '[.ops[].fs] | unique == ["proc", "sysfs"]'
	expect 0 breakdown -j --fs proc --fs sysfs --slowest 1000 --op open -- "${both[@]}"
	json '([.slowest[].fs] | unique == ["proc", "sysfs"]) and (.slowest | length) >= 30'
	expect 0 record -o "$tmp/a.ios" --fs proc,sysfs -- "${both[@]}"
	expect 0 report -j --op open "$tmp/a.ios"
	json '[.ops[].fs] | unique == ["proc", "sysfs"]'
	expect 0 report -j --op open --fs sysfs,ext4 --slowest 9 "$tmp/a.ios"
	json '([.ops[].fs] == ["sysfs"]) and ([.slowest[].fs] | unique == ["sysfs"])'
	expect 1 breakdown --fs proc,nosuch -D 1
	says "no file system type 'nosuch'"
}

@test "-d: each disk of a btrfs volume selects its files" {
	command -v mkfs.btrfs losetup >/dev/null || skip "no mkfs.btrfs"
	loops=()
	for i in 0 1; do
		truncate -s 128M "$tmp/disk$i"
		loops[i]=$(losetup -f --show "$tmp/disk$i") || skip "no loop devices"
	done
	mkdir "$tmp/volume"
	mkfs.btrfs -q -f -d raid0 -m raid1 "${loops[@]}" || true
	if mount -t btrfs -o "device=${loops[0]},device=${loops[1]}" "${loops[0]}" "$tmp/volume"; then
		for i in 0 1; do
			"$iostrata" breakdown -j -d "${loops[i]}" --slowest 9 -o "$tmp/out$i" -- "$python" -c "import os, sys
f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for i in range(23): os.write(f, b\"x\")" "$tmp/volume/file$i" || true
		done
		umount "$tmp/volume"
		mounted=1
	fi
	losetup -d "${loops[@]}"
	[[ ${mounted:-} ]] || skip "no btrfs"
	for i in 0 1; do
		json '[.ops[] | select(.fs == "btrfs" and .op == "write") | .count] == [23]' "$tmp/out$i"
		# slow operations name both disks of the volume
		json "[.slowest[] | select(.fs == \"btrfs\").disks[0] | sort] | unique ==
			[[\"${loops[0]#/dev/}\", \"${loops[1]#/dev/}\"] | sort]" "$tmp/out$i"
	done
}

@test "--file: with --by file, requests are filtered, too, live and for recordings" {
	printf %4096s >"$dir/mine"
	cp "$dir/mine" "$dir/other"
	writes=("$python" -c 'import os, sys
for path in sys.argv[1:]:
    f = os.open(path, os.O_WRONLY)
    for i in range(7):
        os.pwrite(f, b"x" * 4096, 0)
        os.fsync(f)' "$dir/mine" "$dir/other")
	expect 0 breakdown -j --by file -- "${writes[@]}"
	json 'any(.requests[]; .key | endswith("/other"))' || skip "$dir is on no disk"
	expect 0 breakdown -j --by file --file "$dir/mine" -- "${writes[@]}"
	json '[.requests[].key | endswith("/mine")] | all and length > 0'
	[[ $stderr != *"not chosen"* ]]
	expect 0 breakdown -j --by file --file "$dir" -- "${writes[@]}"
	json '[.requests[].key | (endswith("/mine") or endswith("/other"))] | all and length > 1'
	expect 0 breakdown -j --by comm --file "$dir/mine" -- "${writes[@]}"
	[[ $stderr == *"only operations are filtered by --file"* ]]
	expect 0 record -o "$tmp/a.ios" -- "${writes[@]}"
	expect 0 report -j --by file --file "$dir/mine" "$tmp/a.ios"
	json '[.requests[].key | endswith("/mine")] | all and length > 0'
	[[ $stderr != *"not chosen"* ]]
	expect 0 report --by file --file "$dir/mine" "$tmp/a.ios"
	[[ $output != *"not chosen"* ]]
}

@test "--file: a recording has a file with another path now, and tells where a file of this name is" {
	printf %4096s >"$dir/old"
	cp "$dir/old" "$dir/twin"
	expect 0 record --ops -o "$tmp/a.ios" -- "$python" -c 'import os, sys
for path in sys.argv[1:]:
    f = os.open(path, os.O_RDONLY)
    for i in range(23): os.pread(f, 1, 0)' "$dir/old" "$dir/twin"
	mv "$dir/old" "$dir/new"
	expect 0 report -j --op read --file "$dir/old" "$tmp/a.ios" # by the recorded path
	json '[.ops[].count] == [23]'
	expect 0 report --op read --file "/elsewhere/twin" "$tmp/a.ios"
	[[ $stderr == "hint: recorded with this name: $(realpath "$dir")/twin" ]]
	expect 0 report --op read --file "/elsewhere/none" "$tmp/a.ios"
	[[ $stderr != *hint* ]]
	cp "$dir/new" "$dir/copy"
	expect 0 report -j --op read --file "$dir/copy" "$tmp/a.ios"
	json '.ops == []'
	"$python" -c 'import fcntl, sys
fcntl.ioctl(open(sys.argv[1]), 0x80087601, bytes(8))' "$dir/new" || skip "no generations on this file system"
	expect 0 report -j --op read --file "$dir/new" "$tmp/a.ios"
	json '[.ops[].count] == [23]'
}

@test "-d: files on overlayfs are selected by the disk of their layer" {
	disk=$(findmnt -no SOURCE -T "$dir" | sed 's|^/dev/||; s/\[.*//')
	[[ -b /dev/$disk ]] || skip "$dir is on no disk"
	mkdir "$dir"/{lower,upper,work,over}
	echo text >"$dir/lower/below"
	unshare --mount mount -t overlay none -o "lowerdir=$dir/lower,upperdir=$dir/upper,workdir=$dir/work" "$dir/over" ||
		skip "no overlayfs"
	export disk iostrata python
	# shellcheck disable=SC2016
	unshare --mount bash -c 'mount -t overlay none \
			-o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work" "$0/over" &&
		"$iostrata" breakdown -j -d "$disk" --slowest 9 -o "$1" -- "$python" -c "import os, sys
f = os.open(sys.argv[1] + \"/below\", os.O_RDONLY)
for i in range(23): os.pread(f, 1, 0)
f = os.open(sys.argv[1] + \"/new\", os.O_CREAT | os.O_WRONLY)
for i in range(7): os.write(f, b\"x\")" "$0/over"' "$dir" "$tmp/out"
	json '[.ops[] | select(.fs == "overlay" and (.op == "read" or .op == "write")) | [.op, .count]] | sort
		== [["read", 23], ["write", 7]]' "$tmp/out"
	json 'all(.slowest[] | select(.fs == "overlay"); .disks != null and (.disks | length) > 0)' "$tmp/out"
	expect 1 breakdown -d nosuchdisk -D 1
	says "no disk, mount or server is called"
}

@test "--container: the beginning of an id selects the container's cgroup, live and for recordings" {
	root=$(findmnt -nft cgroup2 -o TARGET) || skip "no cgroup v2"
	one=$root/libpod-$(printf '%064x' 0xabc1) two=$root/libpod-$(printf '%064x' 0xabc2)
	mkdir "$one" "$two" || skip "no cgroups can be made"
	: >"$dir/file"
	reads='echo $$ >"$1/cgroup.procs"; exec "$0" -c "import os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
for i in range(int(sys.argv[2])): os.pread(f, 1, 0)" "$2" "$3"'
	start breakdown -j --container "$(printf '%064x' 0xabc1)" --file "$dir/file" --op read --by container
	bash -c "$reads" "$python" "$one" "$dir/file" 23
	bash -c "$reads" "$python" "$two" "$dir/file" 101
	finish INT
	json '[.ops[].count] == [23]' "$tmp/out"
	start record --by cgroup -o "$tmp/a.ios" --op read --file "$dir/file" # which keeps the right to look up names
	bash -c "$reads" "$python" "$one" "$dir/file" 23
	bash -c "$reads" "$python" "$two" "$dir/file" 101
	finish INT
	expect 0 report -j --container "$(printf '%064x' 0xabc2)" "$tmp/a.ios"
	json '[.ops[].count] == [101]'
	expect 1 breakdown --container 000000000000 -D 1
	says "several containers begin with '000000000000'"
	expect 1 breakdown --container ffff1234 -D 1
	says "no container has an id that begins with 'ffff1234'" "--by container"
}
