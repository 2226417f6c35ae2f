// SPDX-License-Identifier: GPL-2.0-only
/* Names of functions in Go's own table, in an ELF file that is made here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "stacks/go_names.h"

enum { TEXT = 0x401000, FIRST = 0x0, SECOND = 0x20, END = 0x50, GO_1_20 = 0xfffffff1 };

/* A table with two functions. The places of the last entry are those behind the last function: it
 * is made so that it would have a name, too. */
struct table {
	uint32_t magic;
	uint8_t pad[2], instruction_bytes, pointer_bytes;
	uint64_t n_functions, n_files, text, names, units, files, places, functions;
	struct {
		uint32_t place, description;
	} list[3], described[3];
	char text_of_names[32];
};

static struct {
	Elf64_Ehdr header;
	struct table table;
	char names[32];
	Elf64_Shdr sections[3];
} file;

static const char names[] = "\0.gopclntab\0.shstrtab";

static Elf *file_make(void)
{
	const uint32_t places[] = { FIRST, SECOND, END };
	const uint32_t at = offsetof(struct table, described) - offsetof(struct table, list);

	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	file.header.e_ident[EI_VERSION] = file.header.e_version = EV_CURRENT;
	file.header.e_type = ET_EXEC;
	file.header.e_machine = EM_X86_64;
	file.header.e_ehsize = sizeof(file.header);
	file.header.e_shentsize = sizeof(*file.sections);
	file.header.e_shoff = offsetof(typeof(file), sections);
	file.header.e_shnum = 3;
	file.header.e_shstrndx = 2;
	memcpy(file.names, names, sizeof(names));
	file.sections[1] = (Elf64_Shdr){ .sh_name = 1,
					 .sh_type = SHT_PROGBITS,
					 .sh_offset = offsetof(typeof(file), table),
					 .sh_size = sizeof(file.table) };
	file.sections[2] = (Elf64_Shdr){ .sh_name = 12,
					 .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(typeof(file), names),
					 .sh_size = sizeof(names) };
	file.table = (struct table){ .magic = GO_1_20,
				     .pointer_bytes = 8,
				     .n_functions = 2,
				     .text = TEXT,
				     .names = offsetof(struct table, text_of_names),
				     .functions = offsetof(struct table, list),
				     .text_of_names = "main.a\0main.b\0main.c" };
	for (unsigned int i = 0; i < 3; i++) {
		file.table.list[i].place = file.table.described[i].place = places[i];
		file.table.list[i].description = at + i * sizeof(*file.table.described);
		file.table.described[i].description = 7 * i; /* its name */
	}
	elf_version(EV_CURRENT);
	return elf_memory((char *)&file, sizeof(file));
}

/* A place behind the last function has no name, nor has one before the first. */
static void places_have_the_name_of_their_function(void **state)
{
	Elf *elf = file_make();

	(void)state;
	assert_non_null(elf);
	assert_null(go_name(elf, TEXT - 1));
	assert_string_equal(go_name(elf, TEXT + FIRST), "main.a");
	assert_string_equal(go_name(elf, TEXT + SECOND - 1), "main.a");
	assert_string_equal(go_name(elf, TEXT + SECOND), "main.b");
	assert_string_equal(go_name(elf, TEXT + END - 1), "main.b");
	assert_null(go_name(elf, TEXT + END));
	assert_null(go_name(elf, TEXT + END + 1));
	elf_end(elf);
}

/* The first function may begin behind the start of the code. */
static void a_place_before_the_first_has_no_name(void **state)
{
	Elf *elf = file_make();

	(void)state;
	file.table.list[0].place = file.table.described[0].place = FIRST + 4;
	assert_null(go_name(elf, TEXT + FIRST + 3));
	assert_string_equal(go_name(elf, TEXT + FIRST + 4), "main.a");
	elf_end(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_have_the_name_of_their_function),
		cmocka_unit_test(a_place_before_the_first_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
