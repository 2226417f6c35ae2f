/* SPDX-License-Identifier: GPL-2.0-only */
/* sanitized.h - SANITIZED: 1 in tests built with SAN=1, whose memory is not that of the tool. */
#ifndef IOSTRATA_TEST_SANITIZED_H
#define IOSTRATA_TEST_SANITIZED_H

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
