/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vmlinux.h - the kernel's types, written by hand, with only the fields that the programs read.
 *
 * Offsets have no meaning here: CO-RE finds them in the BTF of the running kernel. Fields that some
 * supported kernel lacks belong in compat.bpf.h. tests/vmlinux-check compares this file with a
 * running kernel.
 */
#ifndef IOSTRATA_VMLINUX_H
#define IOSTRATA_VMLINUX_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_NO_PREALLOC = 1,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

struct bpf_pidns_info {
	u32 pid;
	u32 tgid;
};

#include "arch.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sigpending {
	struct {
		unsigned long sig[1];
	} signal;
};

struct signal_struct {
	struct sigpending shared_pending;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[64];
};

struct mm_struct {
	struct file *exe_file;
	unsigned long arg_start, arg_end;
};

struct sched_info {
	unsigned long long run_delay;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	struct sched_info sched_info;
	int pid;
	int tgid;
	int exit_code;
	u64 start_time;
	int *set_child_tid;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	char comm[16];
	struct thread_struct thread;
	struct fs_struct *fs;
	struct files_struct *files;
	struct nameidata *nameidata;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct {
		unsigned long sig[1];
	} blocked;
	struct sigpending pending;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct bio_list *bio_list;
	int pagefault_disabled;
	unsigned in_iowait : 1;
};

struct backing_dev_info;

struct bdi_writeback {
	struct backing_dev_info *bdi;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	int nr_descendants;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct file_system_type {
	const char *name;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	struct block_device *s_bdev;
};

struct file_operations {
	void *read_iter;
	void *write_iter;
	void *fsync;
	void *open;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_generation;
	long long i_size;
	struct address_space *i_mapping;
};

struct address_space {
	struct inode *host;
};

struct page {
	struct address_space *mapping;
};

struct bio_vec {
	struct page *bv_page;
};

struct qstr {
	u32 hash;
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct filename {
	const char *name;
};

struct nameidata {
	struct path path;
	struct qstr last;
	struct inode *inode;
	struct filename *name;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct file_ra_state {
	unsigned long start;
	unsigned int size;
	long long prev_pos;
};

struct file {
	/* const in the kernel; newer compilers refuse to read into a const */
	struct file_operations *f_op;
	struct inode *f_inode;
	unsigned int f_mode;
	unsigned int f_flags;
	long long f_pos;
	void *private_data;
	struct path f_path;
	struct file_ra_state f_ra;
};

struct backing_file {
	struct path user_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
	void *ki_complete;
};

struct iocb {
	u16 aio_lio_opcode;
	u32 aio_fildes;
	u64 aio_nbytes;
	long long aio_offset;
	int aio_rw_flags;
};

struct io_event {
	long long res;
};

struct aio_kiocb {
	struct io_event ki_res;
};

struct io_cqe {
	u64 user_data;
	int res;
};

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_wq_work_list {
	struct io_wq_work_node *first;
};

struct io_submit_state {
	struct io_wq_work_list compl_reqs;
};

struct io_wq_work {
	int cancel_seq;
};

struct io_uring {
	u32 head;
};

struct io_rings {
	struct io_uring cq;
};

struct io_ring_ctx {
	unsigned int flags;
	struct io_rings *rings;
	unsigned int cached_cq_tail;
	struct io_submit_state submit_state;
};

/* A request of io_uring. It begins with a struct for its opcode: io_rw, io_open ... */
struct io_kiocb {
	struct file *file;
	u8 opcode;
	struct io_ring_ctx *ctx;
	struct io_cqe cqe;
	struct io_wq_work_node comp_list;
	struct io_wq_work work;
};

struct io_rw {
	struct kiocb kiocb;
	u32 len;
	int flags;
};

struct io_open {
	u32 file_slot;
};

struct io_close {
	int fd;
	u32 file_slot;
};

struct io_splice {
	int splice_fd_in;
	unsigned int flags;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct request_queue {
	const void *mq_ops;
};

struct block_device {
	unsigned int bd_dev;
	struct gendisk *bd_disk;
};

struct bvec_iter {
	unsigned long long bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
	struct bio_vec *bi_io_vec;
};

struct blk_mq_ctx {
	unsigned int cpu;
};

struct request {
	struct request_queue *q;
	struct blk_mq_ctx *mq_ctx;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	unsigned int __data_len;
	unsigned long long __sector;
	struct bio *bio;
};

struct kthread {
	void *data;
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	struct pool_workqueue *current_pwq;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct file *file;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
