#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""nfs_server.py DIRECTORY: the kernel's NFS server exports DIRECTORY to 10.99.0.2, in the network namespace in which
this is run: what exportfs, rpc.nfsd, rpc.mountd and rpcbind would do. "ready" when it serves; the end of stdin ends it.

/proc/fs/nfsd is mounted. Port 111 has the little of rpcbind (100000) and mountd (100005) that NFS v3 asks for.
"""
import socket
import struct
import sys
import threading

RPCBIND, MOUNTD, MNT = 100000, 100005, 1
NEVER = 2147483647  # when entries of caches expire
FSID, INSECURE_PORT, NO_SUBTREE_CHECK = 0x2000, 0x2, 0x400  # of <linux/nfsd/export.h>


def put(file: str, text: str) -> None:
    with open(file, "w", encoding="ascii") as f:
        f.write(text)


def root_handle(point: str) -> bytes:
    """The file handle that a client of NFS version 3 has for the exported directory."""
    with open("/proc/fs/nfsd/filehandle", "r+b", buffering=0) as f:
        f.write(f"client {point} 64\n".encode())
        return bytes.fromhex(f.read(4096).decode().strip().replace("\\x", ""))


def reply(call: bytes, point: str) -> bytes:
    """The reply to a call of ONC RPC (RFC 5531), which is taken for a good one."""
    xid, _, _, program, _, procedure = struct.unpack(">6I", call[:24])
    accepted = struct.pack(">6I", xid, 1, 0, 0, 0, 0)
    if program == RPCBIND:  # it is registered, or it is not any more
        return accepted + struct.pack(">I", 1)
    if program == MOUNTD and procedure == MNT:  # RFC 1813: status, file handle, AUTH_SYS as the only flavor
        handle = root_handle(point)
        return accepted + struct.pack(f">2I{len(handle)}s{-len(handle) % 4}x2I", 0, len(handle), handle, 1, 1)
    return accepted


def answer(client: socket.socket, point: str) -> None:
    while len(head := client.recv(4, socket.MSG_WAITALL)) == 4:
        call = client.recv(struct.unpack(">I", head)[0] & 0x7fffffff, socket.MSG_WAITALL)
        text = reply(call, point)
        client.sendall(struct.pack(">I", 0x80000000 | len(text)) + text)


def listen(point: str) -> None:
    door = socket.create_server(("", 111))
    while True:
        threading.Thread(target=answer, args=(door.accept()[0], point), daemon=True).start()


def main() -> None:
    point = sys.argv[1]
    threading.Thread(target=listen, args=(point,), daemon=True).start()
    put("/proc/fs/nfsd/versions", "+3 +4 +4.1 +4.2\n")
    put("/proc/fs/nfsd/nfsv4gracetime", "10\n")
    put("/proc/net/rpc/auth.unix.ip/channel", f"nfsd 10.99.0.2 {NEVER} client\n")
    flags = FSID | INSECURE_PORT | NO_SUBTREE_CHECK
    put("/proc/net/rpc/nfsd.export/channel", f"client {point} {NEVER} {flags} 65534 65534 0\n")
    put("/proc/net/rpc/nfsd.fh/channel", f"client 1 \\x00000000 {NEVER} {point}\n")
    with socket.create_server(("", 2049)) as door:  # the kernel keeps it
        put("/proc/fs/nfsd/portlist", f"{door.fileno()}\n")
    put("/proc/fs/nfsd/threads", "4\n")
    print("ready", flush=True)
    sys.stdin.read()
    put("/proc/fs/nfsd/threads", "0\n")  # while there is somebody to whom the kernel can say so


main()
