/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jit FILE ROUNDS [MAP]: makes two functions at run time, as a language's runtime does, with frame
 * pointers. Waits for a line. Then, in each round, made_index() syncs FILE once and made_rows()
 * three times. With MAP they have names in /tmp/perf-PID.map.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 256 };

/* Makes a function (int fd) that calls fdatasync(fd) @n times. */
static void make(unsigned char *at, int n)
{
	static const unsigned char begin[] = { 0x55, 0x48, 0x89, 0xe5, /* push rbp; mov rbp, rsp */
					       0x53, 0x48, 0x83, 0xec, 8, /* push rbx; sub rsp, 8 */
					       0x89, 0xfb };              /* mov ebx, edi */
	static const unsigned char end[] = { 0x48, 0x83, 0xc4, 8,         /* add rsp, 8 */
					     0x5b, 0x5d, 0xc3 }; /* pop rbx; pop rbp; ret */
	int (*called)(int) = fdatasync;

	memcpy(at, begin, sizeof(begin));
	at += sizeof(begin);
	for (int i = 0; i < n; i++) {
		memcpy(at, "\x89\xdf\x48\xb8", 4); /* mov edi, ebx; movabs rax, ... */
		memcpy(at + 4, &called, 8);
		memcpy(at + 12, "\xff\xd0", 2); /* call rax */
		at += 14;
	}
	memcpy(at, end, sizeof(end));
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600), rounds = atoi(argv[2]);
	unsigned char *code =
		mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[64];
	FILE *map;

	if (fd < 0 || code == MAP_FAILED)
		return 1;
	make(code, 1);
	make(code + PIECE, 3);
	if (mprotect(code, 2 * PIECE, PROT_READ | PROT_EXEC))
		return 1;
	if (argc > 3) {
		snprintf(line, sizeof(line), "/tmp/perf-%d.map", getpid());
		map = fopen(line, "w");
		if (!map)
			return 1;
		fprintf(map, "%lx %x made_index\n%lx %x made_rows\n", (long)code, PIECE,
			(long)code + PIECE, PIECE);
		fclose(map);
	}
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < rounds; i++) {
		((void (*)(int))code)(fd);
		((void (*)(int))(code + PIECE))(fd);
	}
	return 0;
}
