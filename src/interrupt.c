// SPDX-License-Identifier: GPL-2.0-only
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void on_signal(int signo)
{
	(void)signo;
	came = 1;
}

void interrupt_catch(void)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND }, was;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

bool interrupt_came(void)
{
	return came;
}
