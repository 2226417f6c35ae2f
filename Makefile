# SPDX-License-Identifier: GPL-2.0-only
# The only build file.
#
#   make            build/iostrata; static: build/iostrata-static-ARCH, which needs no library
#   make run        install what is missing, build, and show the breakdown of a real workload
#   make test       install what is missing, build, and run all tests
#   make unit       tests of functions; house: of the sources; cli: of the command line (root)
#   make live       accuracy on this machine (root); matrix [K="6.1 6.12"] [ONLY=REGEX]: on other
#                   kernels, in VMs; core, guests: what make test has of that
#   make bench      what tracing costs; mutants [MUTANTS='-n 50 show']: what no test notices
#   make fuzz       [FUZZ_SECONDS=30] for each; man: build/man; schema: build/schema, JSON Schemas
#   make deb        a package in build/deb
#   make install    [DESTDIR=...] [PREFIX=/usr/local]: with manual, completion, service; help: this
#   make image      an OCI image of the static program, for podman or docker (CONTAINER_TOOL)
#
# V=1 shows the commands. DEBUG=1 builds with -O0, SAN=1 with ASan and UBSan, ARCH=arm64 for that (see
# tests/setup), in build/debug, build/san, build/arm64. ENGINES=clickhouse: cli fetches it, 566 MB.

ARCH := $(shell uname -m)
NO_ARCH = $(error iostrata is for x86_64 and arm64, not for $(ARCH))
override ARCH := $(or $(filter x86_64 aarch64,$(ARCH:arm64=aarch64)),$(NO_ARCH))
BPF_ARCH := $(subst x86_64,x86,$(subst aarch64,arm64,$(ARCH)))
CROSS := $(if $(filter-out $(shell uname -m),$(ARCH)),$(ARCH)-linux-gnu-)
NO_CROSS = $(error there is no $(CROSS)gcc$(if $(filter arm64,$(BPF_ARCH)),: 'tests/setup --cross arm64' installs it))
CC := $(if $(CROSS),$(or $(shell command -v $(CROSS)gcc),$(NO_CROSS)),$(CC))
AR := $(if $(CROSS),$(CROSS)ar,$(AR))
B := build$(if $(CROSS),/$(BPF_ARCH))
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share
ZSH_DIR ?= site-functions
UNIT_DIR ?= $(PREFIX)/lib/systemd/system
FUZZ_SECONDS ?= 30
export PATH := $(PATH):/usr/sbin:/sbin
Q := $(if $(V),,@)
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
JOBS := -j$(shell nproc 2>/dev/null || echo 1)

# The first clang that is new enough, be its name clang or clang-NN; any bpftool that runs (Ubuntu's is a wrapper).
CLANG := $(or $(CLANG),$(shell for c in clang $$(ls /usr/bin /usr/local/bin 2>/dev/null | \
	grep -x 'clang-[0-9]*' | sort -t- -k2 -rn); do \
	v=$$($$c -dumpversion 2>/dev/null) && [ "$${v%%.*}" -ge 14 ] && echo $$c && break; done))
BPFTOOL := $(or $(BPFTOOL),$(shell for c in bpftool /usr/lib/linux-tools*/*/bpftool \
	/usr/lib/linux-tools/*/bpftool; do $$c version >/dev/null 2>&1 && echo $$c && break; done))

O := $(B)$(if $(DEBUG),/debug)$(if $(SAN),/san)$(if $(FUZZ),/fuzz)$(if $(STATIC),/static)
SANITIZED := -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPT := $(or $(if $(DEBUG),-O0),$(if $(SAN),-O0 -g1 $(SANITIZED)),$(if $(FUZZ),-O1 $(SANITIZED)),-O2)
ifneq ($(SAN)$(FUZZ),) # gcc has no fuzzer, and is slower with sanitizers
CC := $(CLANG)
endif
ifdef FUZZ # by the rule fuzz
OPT += -fsanitize=fuzzer-no-link
endif
ifdef STATIC # by the rule static
OPT += -DSTATIC
override LDFLAGS += -static -s -Wl,--gc-sections,--no-warnings
endif

ifneq ($(CROSS),) # what tests/setup --cross unpacks
override LDFLAGS += -L/usr/local/lib/$(ARCH)-linux-gnu
endif

CFLAGS_ALL := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Isrc -I$(B) -g -ffunction-sections $(OPT) $(CPPFLAGS) $(CFLAGS)
# Debian's names of OTF2's and libdw's; the shared ones cost every start 400 KB. libevent's is for serve alone.
LIBS := -lbpf -l:libdw.a -lelf -lz -llzma -lbz2 -lzstd -lpcre2-8 -ljansson -l:libopen-trace-format2.a -l:libevent_core.a -lcap -liberty -lncursesw -ltinfo -lm
TERMS := linux xterm xterm-256color screen screen-256color tmux tmux-256color vt100 vt220
# INLINED=1: with the lines of inlined functions, for the verifier's log; it takes half as long again.
BPF_CFLAGS := -g $(if $(INLINED),,-gno-inline-line-tables) -O2 -target bpfel -D__TARGET_ARCH_$(BPF_ARCH) -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter

SRCS := $(filter-out src/bpf/%,$(wildcard src/*.c src/*/*.c))
OBJS := $(patsubst src/%.c,$(if $(STATIC),$(B),$(O))/%.o,$(SRCS))
LIB_OBJS := $(filter-out %/main.o,$(if $(STATIC),$(OBJS:$(B)/run/caller.o=$(O)/run/caller.o),$(OBJS)))
SKELS := $(patsubst %,$(B)/%.skel.h,trace trace_functions func)
UNIT := $(patsubst tests/unit/%.c,$(O)/unit/%,$(wildcard tests/unit/test_*.c))
PAGES := $(patsubst man/%.scd,$(B)/man/%,$(wildcard man/*.scd))
FUZZERS := $(patsubst tests/fuzz/%.c,$(O)/%,$(wildcard tests/fuzz/fuzz_*.c))

all: $(O)/iostrata
help:; @sed -n '4,/^$$/s/^# \{0,3\}//p' Makefile

# Only caller.c differs.
static: $(OBJS)
	$(Q)$(MAKE) --no-print-directory STATIC=1 all
	$(Q)cp $(B)/static/iostrata build/iostrata-static-$(ARCH)

$(shell mkdir -p $(addprefix $(O)/,unit base host common cmd trace show capture analyse export run funcs stacks top serve mcp))

# trace_functions has the same programs with functions; see function.bpf.h.
$(B)/trace_functions.bpf.o: BPF_CFLAGS += -DFUNCTIONS
$(B)/trace.bpf.o $(B)/trace_functions.bpf.o: src/bpf/trace.bpf.c
$(B)/func.bpf.o: src/bpf/func.bpf.c

$(B)/%.bpf.o: Makefile
	@echo "  BPF   $@"
	$(Q)$(or $(CLANG),$(error no clang 14 or newer; see tests/setup --build)) $(BPF_CFLAGS) \
		-MMD -MP -MT $@ -MF $(@:.o=.d) -c $(filter %.c,$^) -o $@.full
	$(Q)$(or $(BPFTOOL),$(error no bpftool; see tests/setup --build)) gen object $@ $@.full && \
		rm $@.full

$(B)/%.skel.h: $(B)/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf | \
		sed -e '/elf_bytes(size_t \*sz)$$/,/^}/d' -e '/elf_bytes/d' >$@.new && mv $@.new $@
	$(Q)zstd -qf19 $< -o $<.zst

# Descriptions of terminals; see show/screen.c.
$(B)/terminfo.h: Makefile
	$(Q)for t in $(TERMS); do infocmp -Q2 $$t | awk -v t=$$t '!/^#/ { b = b $$0 } \
		END { printf "{ \"%s\", \"%s\" },\n", t, b }' || exit; done >$@

# The parts of an HTML page; see show/page.c.
$(B)/page_head.html: $(wildcard src/page/* src/page/script/*) src/base/share.h
	$(Q)src/page/assemble $(B)

$(O)/show/screen.o: $(B)/terminfo.h
$(O)/show/page.o: $(B)/page_head.html
$(O)/trace/load.o $(O)/show/page.o: CFLAGS_ALL += -DOBJECTS_DIR='"$(B)/"'
$(patsubst src/%.c,$(O)/%.o,$(wildcard src/trace/*.c src/funcs/*.c)): $(SKELS)

$(O)/%.o: src/%.c Makefile
	@echo "  CC    $@"
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(O)/libiostrata.a: $(LIB_OBJS)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(O)/iostrata: $(filter %/main.o,$(OBJS)) $(O)/libiostrata.a
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $^ $(LIBS) -o $@

# Many have all of src/bpf in them: not optimized, they are built three to six times faster, and run as fast.
$(O)/unit/%: tests/unit/%.c $(O)/libiostrata.a Makefile
	@echo "  UNIT  $@"
	$(Q)$(CC) $(CFLAGS_ALL) -O0 $(LDFLAGS) -MMD -MP -MF $@.d $< $(O)/libiostrata.a -lcmocka $(LIBS) -o $@

$(O)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/made.h $(O)/libiostrata.a Makefile
	@echo "  FUZZ  $@"
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -fsanitize=fuzzer $< $(O)/libiostrata.a $(LIBS) -o $@

# What explain says of recordings with planted causes; see tests/bench/explain_causes.py.
$(O)/explain_judge: tests/bench/explain_judge.c $(O)/libiostrata.a Makefile
	@echo "  BENCH $@"
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(O)/libiostrata.a $(LIBS) -o $@

# How often explain over hosts is right; see its head.
$(O)/fleet_judge: tests/bench/fleet_judge.c $(O)/libiostrata.a Makefile
	@echo "  BENCH $@"
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(O)/libiostrata.a $(LIBS) -o $@

$(O)/records: tests/records.c $(O)/libiostrata.a Makefile
	@echo "  TEST  $@"
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(O)/libiostrata.a $(LIBS) -o $@

# Each ends with a line "N passed, N failed, N skipped".
unit: $(UNIT)
	$(Q)CMOCKA_MESSAGE_OUTPUT=TAP tests/tap $(UNIT)

house: all man schema
	$(Q)tests/tap "bats --tap tests/house"

CLI = tests/cli/$(SAN:1={usage,refusals,exact}.bats)

cli: all schema $(if $(SAN),,man)
	$(Q)mkdir -p $(B)/test/tmp
	$(Q)$(SUDO) ENGINES='$(ENGINES)' IOSTRATA=$(CURDIR)/$(O)/iostrata tests/tap "bats --tap $(CLI)"

# Under sudo, commands would be run as the caller, who may not write where the gate does.
live: all static schema
	$(Q)mkdir -p $(B)/gate
	$(Q)$(SUDO) env -u SUDO_UID -u SUDO_GID -u SUDO_USER tests/gate/run --native

matrix: all static schema
	$(Q)tests/podman || true
	$(Q)tests/vm/matrix $(if $(ONLY),--only '$(ONLY)') $(K)

core guests: all static schema
	$(Q)tests/vm/matrix --again --part $@

test: # without the sanitizers, for its time and memory, test_many alone
	$(Q)tests/setup --test
	$(Q)$(MAKE) --no-print-directory $(JOBS) all man schema static
	$(Q)tests/all house "$(JOBS) cli SAN=1" "$(JOBS) unit SAN=1" '&' core , \
		guests + guests + live + "cli CLI='tests/cli/[a-p]*.bats'" "bench BENCH='--quick 6.1'" + \
		"unit UNIT=build/unit/test_many" "cli CLI='tests/cli/[!a-p]*.bats'"

run:
	$(Q)tests/setup --build
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	$(Q)tests/demo

bench: all
	$(Q)tests/bench/bench $(BENCH)

mutants: all
	$(Q)tests/mutate $(MUTANTS)

fuzz:
	$(Q)$(MAKE) --no-print-directory $(JOBS) FUZZ=1 fuzzers
	$(Q)tests/fuzz/run $(B)/fuzz $(FUZZ_SECONDS)

fuzzers: $(FUZZERS) $(O)/records

# The JSON Schemas, such as build/schema/breakdown-1.json: the program prints them. A program with
# sanitizers only does if there are none: other tests may be reading them.
schema: $(B)/schema

$(B)/schema: $(if $(SAN),|) $(O)/iostrata
	@echo "  JSON  $@"
	$(Q)rm -rf $@ $@.new && mkdir $@.new
	$(Q)cd $@.new && for name in $$($(CURDIR)/$(O)/iostrata schema | cut -d' ' -f1); do \
		$(CURDIR)/$(O)/iostrata schema $$name >$$name && mv $$name \
			$$(sed -n 's,.*"iostrata\.\(.*\)/\(.*\)".*,\1-\2.json,p;T;q' $$name) || exit; done
	$(Q)mv $@.new $@

# Options, columns and members in the pages come from the tables from which -h and schemas are printed.
man: $(PAGES)

$(B)/man/%: man/%.scd man/page.awk $(O)/iostrata
	@echo "  MAN   $@"
	$(Q)mkdir -p $(@D)
	$(Q)awk -v program=$(O)/iostrata -v version="$$($(O)/iostrata --version)" -f man/page.awk $< >$@.scd
	$(Q)scdoc <$@.scd >$@.new && rm $@.scd && mv $@.new $@

install: all man schema
	install -D -m 755 $(O)/iostrata $(DESTDIR)$(PREFIX)/bin/iostrata
	for page in $(PAGES); do install -D -m 644 $$page $(SHARE)/man/man$${page##*.}/$${page##*/} || exit; done
	install -D -m 644 completion/iostrata.bash $(SHARE)/bash-completion/completions/iostrata
	install -D -m 644 completion/_iostrata $(SHARE)/zsh/$(ZSH_DIR)/_iostrata
	install -D -m 644 completion/iostrata.fish $(SHARE)/fish/vendor_completions.d/iostrata.fish
	for schema in $(B)/schema/*.json; do \
		install -D -m 644 $$schema $(SHARE)/iostrata/schema/$${schema##*/} || exit; done
	for unit in iostrata-watch@.service iostrata-serve.service; do \
		install -D -m 644 systemd/$$unit $(DESTDIR)$(UNIT_DIR)/$$unit && \
		sed -i 's,@BIN@,$(PREFIX)/bin,' $(DESTDIR)$(UNIT_DIR)/$$unit || exit; done
	for file in iostrata.yaml grafana/iostrata.json prometheus/rules.yml; do \
		install -D -m 644 $$file $(SHARE)/doc/iostrata/$$file || exit; done
	for file in examples/*; do install -D -m 755 $$file $(SHARE)/doc/iostrata/$$file || exit; done

# The image has the static program alone. Any tool that builds from a Containerfile can make the image.
CONTAINER_TOOL ?= $(shell for tool in podman docker; do $$tool info >/dev/null 2>&1 && echo $$tool && break; done)
VERSION = $(shell sed -n 's/.*IOSTRATA_VERSION "\(.*\)"/\1/p' src/run/cmd.h)

image: static
	$(Q)[ -n "$(CONTAINER_TOOL)" ] || { echo "error: neither podman nor docker works here" >&2; exit 1; }
	$(Q)rm -rf $(B)/image && mkdir $(B)/image
	$(Q)cp build/iostrata-static-$(ARCH) $(B)/image/iostrata
	$(Q)$(CONTAINER_TOOL) build -t localhost/iostrata:$(VERSION) -f Containerfile $(B)/image

deb:
	$(Q)debian/build $(B)/deb

clean:
	rm -rf $(B) tests/__pycache__ tests/*/__pycache__

-include $(LIB_OBJS:.o=.d) $(filter %/main.d,$(OBJS:.o=.d)) $(SKELS:.skel.h=.bpf.d) $(UNIT:%=%.d)
.SECONDARY .DELETE_ON_ERROR:
.PHONY: all static unit house cli live matrix core guests test run bench mutants fuzz fuzzers man schema install image deb clean help
