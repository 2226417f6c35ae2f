// SPDX-License-Identifier: GPL-2.0-only
#include "serve/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "serve/http.h"

enum { TOKEN_LEN_MIN = 16 };

static const char token_chars[] =
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/* Takes the same time wherever the texts differ. */
static bool is_token(const struct guard *g, const char *text, size_t len)
{
	size_t own = strlen(g->token);
	unsigned char differ = 0;

	if (len != own)
		return false;
	for (size_t i = 0; i < own; i++)
		differ |= (unsigned char)(text[i] ^ g->token[i]);
	return !differ;
}

/* The value of @name ("token=") in a list of "name=value" with @between, or NULL if there is
 * none. */
static const char *value_in(const char *list, const char *name, const char *between,
			    size_t *ret_len)
{
	size_t n = strlen(name);

	while (list && *list) {
		list += strspn(list, " ");
		if (!strncmp(list, name, n)) {
			*ret_len = strcspn(list + n, between);
			return list + n;
		}
		list += strcspn(list, between);
		list += *list ? 1 : 0;
	}
	return NULL;
}

bool guard_in_query(const struct guard *g, const struct http_request *rq)
{
	size_t len = 0;
	const char *value = value_in(rq->query, "token=", "&", &len);

	return g->token[0] && value && is_token(g, value, len);
}

static bool has_token(const struct guard *g, const struct http_request *rq)
{
	const char *value, *bearer = "Bearer ";
	size_t len = 0;

	if (guard_in_query(g, rq))
		return true;
	if (rq->authorization && !strncasecmp(rq->authorization, bearer, strlen(bearer))) {
		value = rq->authorization + strlen(bearer);
		return is_token(g, value, strlen(value));
	}
	value = value_in(rq->cookie, "iostrata=", ";", &len);
	return value && is_token(g, value, len);
}

/* Whether @port, the end of a Host header, is empty or ":9740". */
static bool is_port(const char *port)
{
	return !*port || (*port == ':' && !port[1 + strspn(port + 1, "0123456789")]);
}

/* Whether a Host header is "localhost" or a loopback address, with any port. No name server is
 * asked for these, so nobody else can give them to another machine, or take them. */
static bool host_is_local(const char *host)
{
	bool v6 = *host == '[';
	const char *name = host + v6;
	size_t len = strcspn(name, v6 ? "]" : ":");
	char text[INET6_ADDRSTRLEN];
	struct in6_addr addr6;
	struct in_addr addr;

	if (len >= sizeof(text) || (v6 && !name[len]) || !is_port(name + len + v6))
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	if (v6)
		return inet_pton(AF_INET6, text, &addr6) == 1 && IN6_IS_ADDR_LOOPBACK(&addr6);
	return !strcasecmp(text, "localhost") ||
	       (inet_pton(AF_INET, text, &addr) == 1 && ntohl(addr.s_addr) >> 24 == IN_LOOPBACKNET);
}

/* Whether an Origin header ("http://host:port") names the page's own host. */
static bool origin_is_own(const struct http_request *rq)
{
	const char *host = strstr(rq->origin, "://");

	return host && !strcasecmp(host + 3, rq->host);
}

/* Browsers say from where a page asks. A link from elsewhere to the page itself is fine. */
static bool is_foreign(const struct http_request *rq)
{
	if (rq->origin && !origin_is_own(rq))
		return true;
	return rq->fetch_site && strcmp(rq->path, "/") != 0 &&
	       strcmp(rq->fetch_site, "same-origin") != 0 && strcmp(rq->fetch_site, "none") != 0;
}

int guard_check(const struct guard *g, const struct http_request *rq)
{
	if (g->token[0] ? !has_token(g, rq) : !host_is_local(rq->host))
		return g->token[0] ? 401 : 421;
	return is_foreign(rq) ? 403 : 0;
}

int guard_new_token(char ret_token[TOKEN_CAP])
{
	uint8_t bytes[TOKEN_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool guard_is_token(const char *token)
{
	size_t len = strlen(token);

	return len >= TOKEN_LEN_MIN && len < TOKEN_CAP && strspn(token, token_chars) == len;
}
