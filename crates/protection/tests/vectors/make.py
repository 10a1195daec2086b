#!/usr/bin/env python3
"""Writes records.txt: DTLS chunks made with the Python package `cryptography`, to compare the crate with.

An independent implementation of draft-ietf-tsvwg-sctp-dtls-chunk-04 and RFC 9147, from the texts.

    python3 make.py > records.txt
"""

import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305


def expand(name, secret, info, length):
    out, block, i = b"", b"", 1
    while len(out) < length:
        block = hmac.new(secret, block + info + bytes([i]), name).digest()
        out, i = out + block, i + 1
    return out[:length]


def expand_label(name, secret, label, context, length):
    label = b"dtls13" + label
    info = struct.pack(">HB", length, len(label)) + label + bytes([len(context)]) + context
    return expand(name, secret, info, length)


SUITES = {
    0x1301: ("sha256", 16, AESGCM),
    0x1302: ("sha384", 32, AESGCM),
    0x1303: ("sha256", 32, ChaCha20Poly1305),
}


def mask(suite, key, sample):
    if suite == 0x1303:
        cipher = Cipher(algorithms.ChaCha20(key, sample), mode=None)
        return cipher.encryptor().update(bytes(2))
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(sample)[:2]


def seal(suite, keys, restart, epoch, number, chunks):
    key, sn_key, iv = keys
    header = struct.pack(">BH", 0b00101000 | epoch & 3, number & 0xFFFF)
    nonce = bytes(a ^ b for a, b in zip(iv, bytes(4) + struct.pack(">Q", number)))
    text = SUITES[suite][2](key).encrypt(nonce, chunks + b"\x17", header)
    sn = bytes(a ^ b for a, b in zip(header[1:], mask(suite, sn_key, text[:16])))
    record = header[:1] + sn + text
    chunk = struct.pack(">BBH", 0x41, int(restart), 5 + len(record)) + b"\0" + record
    return chunk + bytes(-len(chunk) % 4)


def traffic(suite, secret):
    name, key_len, _ = SUITES[suite]
    return [expand_label(name, secret, label, b"", n) for label, n in ((b"key", key_len), (b"sn", key_len), (b"iv", 12))]


def records():
    print("# record: suite secret context epoch number chunks protected")
    numbers = [0, 1, 0x7FFF, 0xFFFF, 0x10000, 0x12345678, (1 << 48) - 1]
    for suite, (name, _, _) in SUITES.items():
        for i, number in enumerate(numbers):
            epoch, restart, length = 3 + i, i % 3 == 2, [4, 8, 12, 16, 64, 252, 1200][i]
            secret = hashlib.new(name, b"secret %d %d" % (suite, i)).digest()
            chunks = bytes((j * 7 + i) % 251 for j in range(length))
            sealed = seal(suite, traffic(suite, secret), restart, epoch, number, chunks)
            context = "restart" if restart else "primary"
            print("record", f"{suite:04x}", secret.hex(), context, epoch, number, chunks.hex(), sealed.hex())


def pre_shared():
    """The derivation that the crate's documentation of `PreShared` describes."""
    print("# psk: suite key client-parameter client-tag client-tsn server-… binding end context direction epoch key sn iv")
    binding = hashlib.sha256(b"INIT" + b"INIT ACK").digest()
    client = bytes.fromhex("8006000a0102030401 00".replace(" ", ""))
    server = bytes.fromhex("8006000ba1a2a3a402 00c0".replace(" ", ""))
    tags, tsns = (0x11121314, 0x21222324), (0x31323334, 0x41424344)
    for suite, (name, key_len, _) in SUITES.items():
        psk = hashlib.sha256(b"psk %d" % suite).digest()
        said = b"".join(p + struct.pack(">II", t, n) for p, t, n in zip((client, server), tags, tsns))
        said += binding
        key = hmac.new(b"msctp DTLS chunk pre-shared", psk, name).digest()
        secret = hmac.new(key, said, name).digest()
        for epoch in (3, 4):
            for end in (0, 1):
                for restart in (0, 1):
                    for receive in (0, 1):
                        context = bytes([end ^ receive, restart])
                        values = [
                            expand_label(name, secret, b"dtls chunk", context + bytes([kind]), n)
                            for kind, n in ((0, key_len), (1, key_len), (2, 12))
                        ]
                        print(
                            "psk", f"{suite:04x}", psk.hex(),
                            client.hex(), tags[0], tsns[0], server.hex(), tags[1], tsns[1], binding.hex(),
                            ("client", "server")[end], ("primary", "restart")[restart],
                            ("send", "receive")[receive], epoch, *(v.hex() for v in values),
                        )
            secret = expand_label(name, secret, b"traffic upd", b"", len(secret))


def bound():
    """The derivation that the crate's documentation of `KeyMaterial::bound` describes."""
    print("# bound: suite key sn iv client-tsn client-messages server-tsn server-messages key sn iv")
    for suite, (name, key_len, _) in SUITES.items():
        exported = [hashlib.shake_128(b"exported %d %d" % (suite, i)).digest(n) for i, n in enumerate((key_len, key_len, 12))]
        for begins in ((0x01020304, 2, 0x11121314, 3), (0xFFFFFFFF, 0, 0, 0x10000)):
            key = hmac.new(b"msctp DTLS chunk first protected", b"".join(exported), name).digest()
            secret = expand_label(name, key, b"first prot", struct.pack(">4I", *begins), len(key))
            print("bound", f"{suite:04x}", *(v.hex() for v in exported), *begins, *(v.hex() for v in traffic(suite, secret)))


records()
pre_shared()
bound()
