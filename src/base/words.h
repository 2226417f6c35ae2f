/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * words.h - the words that a text of JSON can have: a table of names, seen as a list. A word that
 * the table gets appears in every schema by itself.
 */
#ifndef IOSTRATA_BASE_WORDS_H
#define IOSTRATA_BASE_WORDS_H

struct word_list {
	const char *(*name)(unsigned int n); /* NULL: .list has the words */
	unsigned int from, to;               /* of .name or .list; @to is not in it */
	const char *const *list;
	const struct word_list *more;        /* these words, too */
	const char *(*help)(unsigned int n); /* meaning, for objects with a member for each word */
};

/* The word of number @n, or NULL: this number has none. */
static inline const char *words_at(const struct word_list *w, unsigned int n)
{
	return w->name ? w->name(n) : w->list[n];
}

#endif
