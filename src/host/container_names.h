/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * container_names.h - the names that people gave to containers, from files of this machine. Asks no
 * runtime and no API server. Names are hostile.
 *
 * Pods of any runtime: the kubelet's links POD_NAMESPACE_CONTAINER-ID.log in /var/log/containers
 * (Kubernetes, pkg/kubelet/kuberuntime/legacy.go). docker: its config.v2.json (moby,
 * daemon/container). podman: containers.json and volatile-containers.json of its storage
 * (containers/storage, containers.go). Containers of users without root, and of other directories,
 * are not found.
 */
#ifndef IOSTRATA_HOST_CONTAINER_NAMES_H
#define IOSTRATA_HOST_CONTAINER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct container;

/* Names by id, once found. Initially all 0. */
struct container_names {
	const char *root; /* a prefix of the paths; NULL: none. For tests */
	bool no_files;    /* only names of container_names_add() are known */
	struct container_known *known;
	uint64_t read_ns; /* when the lists were read last */
};

/* Directories, below that these files are; then NULL. */
extern const char *const container_names_dirs[];

/* Adds the name of the container @id: @title is "NAMESPACE/POD/NAME", or "NAME". Both are hostile.
 * Without an entry left, or out of memory, the container has no name. */
void container_names_add(struct container_names *n, const char *id, const char *title);

/* Sets the names of @c, if they are known, by its id, pod and runtime. */
void container_names_find(struct container_names *n, struct container *c);

void container_names_done(struct container_names *n);

#endif
