#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ksmbd_server.py DIRECTORY INTERFACE: the kernel's SMB server (ksmbd) serves DIRECTORY as "share" at INTERFACE, for
user root with password "secret": what ksmbd.mountd would do. "ready" when it serves; the end of stdin ends it.

ksmbd asks user space over generic netlink: who a user is, and what a share. Structs are those of ksmbd_netlink.h,
whose sizes are the same in all kernels from 6.1 on.
"""
import select
import socket
import struct
import sys
import time

PORT, NETLINK_GENERIC, GENL_ID_CTRL = 445, 16, 16
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
STARTING_UP, LOGIN, SHARE, TREE_CONNECT = 2, 4, 6, 8  # an answer has the number of its request + 1
USER_OK = 1
SHARE_AVAILABLE, SHARE_WRITEABLE, SHARE_PIPE = 1 << 0, 1 << 2, 1 << 8
TREE_WRITABLE = 1 << 2
NT_HASH = bytes.fromhex("878d8014606cda29677a44efa1353fc7")  # of "secret"


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def send(sock: socket.socket, family: int, command: int, data: bytes, flags: int = 0) -> None:
    body = struct.pack("=BBH", command, 1, 0) + data
    sock.send(struct.pack("=IHHII", 16 + len(body), family, NLM_F_REQUEST | flags, 1, 0) + body)


def received(sock: socket.socket) -> tuple[int, int, bytes]:
    """Family and command of a message, and the data of its first attribute. An error of the kernel ends this."""
    text = sock.recv(1 << 16)
    family, = struct.unpack_from("=H", text, 4)
    if family == NLMSG_ERROR:
        error, = struct.unpack_from("=i", text, 16)
        if error:
            sys.exit(f"error: ksmbd refuses: {-error}")
        return family, 0, b""
    length, = struct.unpack_from("=H", text, 20)
    return family, text[16], text[24:20 + length]


def family_id(sock: socket.socket, name: str) -> int:
    send(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, name.encode() + b"\0"))
    text = sock.recv(1 << 16)
    at = 20
    while at < len(text):
        length, kind = struct.unpack_from("=HH", text, at)
        if kind == CTRL_ATTR_FAMILY_ID:
            return int(struct.unpack_from("=H", text, at + 4)[0])
        at += length + -length % 4
    sys.exit(f"error: no family {name}")


def startup(interface: str) -> bytes:
    names = interface.encode() + b"\0"
    return struct.pack("=Ii16s16s16s64s64sHH6I3I3IbI499xI", 0, 0, b"", b"", b"SERVER", b"WORKGROUP", b"server", PORT, 0,
                       0, 10000, 0, 0, 0, 0, 1, 2, 3, 8192, 0, 128, 1, 64, len(names)) + names


def answer(command: int, asked: bytes, point: str) -> bytes:
    handle = asked[:4]
    if command == LOGIN:
        return struct.pack("=4sII48sHH18s2x64x", handle, 0, 0, b"root", USER_OK, len(NT_HASH), NT_HASH)
    if command == TREE_CONNECT:
        return struct.pack("=4sHH64x", handle, 0, TREE_WRITABLE)
    name = asked[4:68].split(b"\0")[0].lower()
    flags, path = {b"share": (SHARE_AVAILABLE | SHARE_WRITEABLE, point.encode() + b"\0"),
                   b"ipc$": (SHARE_AVAILABLE | SHARE_PIPE, b"")}.get(name, (0, b""))
    return struct.pack("=4sI6H64s444xII", handle, flags, 0o644, 0o755, 0, 0, 0xffff, 0xffff, name, len(path), 0) + path


def is_up() -> bool:
    with open("/sys/class/ksmbd-control/stats", encoding="ascii") as f:
        return "running" in f.read()


def main() -> None:
    point, interface = sys.argv[1:]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        sock.bind((0, 0))
        family = family_id(sock, "SMBD_GENL")
        send(sock, family, STARTING_UP, attribute(STARTING_UP, startup(interface)), NLM_F_ACK)
        received(sock)
        while not is_up():
            time.sleep(0.05)
        print("ready", flush=True)
        while True:
            ready = select.select([sock, sys.stdin], [], [])[0]
            if sys.stdin in ready:
                break
            _, command, asked = received(sock)
            if command in (LOGIN, SHARE, TREE_CONNECT):
                send(sock, family, command + 1, attribute(command + 1, answer(command, asked, point)))
    with open("/sys/class/ksmbd-control/kill_server", "w", encoding="ascii") as f:
        f.write("hard")


main()
