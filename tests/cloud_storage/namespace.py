"""A namespace with its own network and mounts, in which Google's hosts are this machine."""

import fcntl
import os
import socket
import ssl
import struct
import subprocess

ENTER = ("unshare", "--net", "--mount", "--map-root-user")
CHECKS = {"a namespace with a mount": (*ENTER, "mount", "--bind", "/etc/hosts", "/etc/hosts"),
          "a certificate": ("openssl", "version")}

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h


def reason_to_skip():
    """Returns why this machine cannot create a namespace, None if it can."""
    for what, command in CHECKS.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"requires {what}: {error.strerror}: {command[0]}"
        if done.returncode:
            return f"requires {what}: {' '.join(done.stderr.split())}"
    return None


def raise_loopback():
    """Makes 127.0.0.1 reachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def resolve_here(hosts, folder):
    """Maps hosts to this machine in a new /etc/hosts, a file in `folder`."""
    with open("/etc/hosts", encoding="utf-8") as file:
        known = file.read()
    path = os.path.join(folder, "hosts")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"127.0.0.1 {' '.join(hosts)}\n{known}")
    subprocess.run(["mount", "--bind", path, "/etc/hosts"], check=True)


def make_certificate(hosts, certificate):
    """Creates a self-signed certificate for hosts at the path `certificate`; returns an ssl.SSLContext with it."""
    key = f"{certificate}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=tests", "-addext", f"subjectAltName={','.join(f'DNS:{host}' for host in hosts)}",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    os.remove(key)
    return context
