# SPDX-License-Identifier: GPL-2.0-only
# The scripts of examples/ for watch --run: what they send, and that a failure is a status.
# shellcheck disable=SC2154 # bats sets them

load lib

setup() { cd "$BATS_TEST_DIRNAME/../.." || return; }

teardown() { end_spawned; }

# store STATUS: a store that checks what is put as S3 does, prints the paths, and answers STATUS.
store() {
	cat >"$tmp/store.py" <<-'EOT'
		import hashlib, hmac, http.server, sys
		class Store(http.server.BaseHTTPRequestHandler):
		    def do_PUT(self):
		        body = self.rfile.read(int(self.headers["content-length"]))
		        auth = dict(part.strip().split("=", 1) for part in
		                    self.headers["authorization"].split(" ", 1)[1].split(","))
		        date, region, service, last = auth["Credential"].split("/")[1:]
		        names = auth["SignedHeaders"]
		        lines = "".join(f"{n}:{self.headers[n].strip()}\n" for n in names.split(";"))
		        asked = f"PUT\n{self.path}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
		        text = "\n".join(("AWS4-HMAC-SHA256", self.headers["x-amz-date"],
		                          f"{date}/{region}/{service}/{last}", hashlib.sha256(asked.encode()).hexdigest()))
		        key = b"AWS4secret"
		        for part in (date, region, service, last, text):
		            key = hmac.new(key, part.encode(), "sha256").digest()
		        good = key.hex() == auth["Signature"] and "x-amz-content-sha256" in names
		        self.send_response(int(sys.argv[1]) if good else 403)
		        self.send_header("content-length", "0")
		        self.end_headers()
		        print("good" if good else "forbidden", region, self.path, len(body))
		    def log_message(self, *args): pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Store)
		print("port", server.server_port)
		server.serve_forever()
	EOT
	spawn "$python" -u "$tmp/store.py" "$1" >"$tmp/store"
	wait_until grep -q port "$tmp/store"
	export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret AWS_REGION=eu-north-1
	S3_URL=http://127.0.0.1:$(sed -n 's/^port //p' "$tmp/store")/bucket
	export S3_URL
}

@test "put-s3: a recording and a directory of tables are signed and put; a refusal is a failure" {
	store 200
	file=$tmp/watch-20260101T000000Z-fsync-over-1ms.ios
	head -c 7919 /dev/zero >"$file"
	examples/put-s3 "$file"
	mkdir "$tmp/one.tables"
	head -c 101 /dev/zero >"$tmp/one.tables/operations.parquet"
	examples/put-s3 "$tmp/one.tables"
	[[ $(grep -v port "$tmp/store") == "good eu-north-1 /bucket/$(uname -n)/${file##*/} 7919
good eu-north-1 /bucket/$(uname -n)/one.tables/operations.parquet 101" ]]
	not env AWS_SECRET_ACCESS_KEY=other examples/put-s3 "$file"
	[[ $(tail -n 1 "$tmp/store") == forbidden* ]]
	store 503
	not examples/put-s3 "$file"
	not env S3_URL=http://127.0.0.1:1/bucket examples/put-s3 "$file"
}

@test "put-rclone, put-scp: the place has the host's name; without settings they say what is missing" {
	: >"$tmp/one.ios"
	mkdir "$tmp/bin"
	for program in rclone ssh scp; do
		printf '#!/bin/sh\necho %s "$@"\n' "$program" >"$tmp/bin/$program"
	done
	chmod 755 "$tmp"/bin/*
	run env PATH="$tmp/bin:$PATH" RCLONE_TO=far:bucket examples/put-rclone "$tmp/one.ios"
	[[ $status == 0 && $output == "rclone copyto --quiet $tmp/one.ios far:bucket/$(uname -n)/one.ios" ]]
	run env PATH="$tmp/bin:$PATH" SCP_HOST=store SCP_DIR=/srv examples/put-scp "$tmp/one.ios"
	[[ $status == 0 && ${lines[1]} == "scp -q "*" store:/srv/$(uname -n)/.one.ios.part" ]]
	[[ ${lines[2]} == *" mv '/srv/$(uname -n)/.one.ios.part' '/srv/$(uname -n)/one.ios'" ]]
	for script in put-s3 put-rclone put-scp; do
		run "examples/$script" "$tmp/one.ios"
		[[ $status != 0 && $output == *"is missing"* ]]
		run "examples/$script"
		[[ $status == 2 && $output == *"For 'iostrata watch --run'"* ]]
	done
}
