"""TLS with certificates that are made on the spot: a right one of a private authority, and wrong ones."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contract.faulty.faults import Fault
from contract.words import gettext_noop

__all__ = ["TLS", "server_tls"]

AUTHORITY_FILE = "authority.pem"
OTHER_HOST = "another-host.example.com"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is wrong with a certificate: whom it names, when it ends, and who signed it."""

    names_host: bool = True
    ends: timedelta = timedelta(days=1)
    self_signed: bool = False


_KINDS: Mapping[str, _Kind] = {
    "tls": _Kind(),
    "tls_name_mismatch": _Kind(names_host=False),
    "tls_expired": _Kind(ends=timedelta(days=-1)),
    "tls_self_signed": _Kind(self_signed=True),
}


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _alternative(host: str) -> x509.GeneralName:
    try:
        address: IPv4Address | IPv6Address = ip_address(host)
    except ValueError:
        return x509.DNSName(host)
    return x509.IPAddress(address)


def _certificate(
    host: str, issuer: str, public_key: ec.EllipticCurvePublicKey, ends: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(host))
        .issuer_name(_name(issuer))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + ends)
    )


def _authority(key: ec.EllipticCurvePrivateKey, name: str) -> x509.Certificate:
    return (
        _certificate(name, name, key.public_key(), timedelta(days=30))
        .add_extension(x509.BasicConstraints(True, None), True)
        .add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .sign(key, hashes.SHA256())
    )


def server_tls(kind: str, host: str, folder: Path) -> ssl.SSLContext:
    """Return a server's TLS of `kind` for `host`, a name or an address.

    `folder` receives the key, the certificate and ``authority.pem``, which a caller may trust. Raises `OSError`.
    """
    facts, issuer = _KINDS[kind], "agentmem serve --fault"
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key, issuer)
    (folder / AUTHORITY_FILE).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    named = host if facts.names_host else OTHER_HOST
    signer = key if facts.self_signed else authority_key
    certificate = (
        _certificate(named, named if facts.self_signed else issuer, key.public_key(), facts.ends)
        .add_extension(x509.SubjectAlternativeName([_alternative(named)]), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False)
        .sign(signer, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


TLS = (
    Fault(
        name="tls",
        sentence=gettext_noop(
            "Speaks TLS with a certificate of a private authority, whose file is named at the start."
        ),
        listen="tls",
    ),
    Fault(
        name="tls_name_mismatch",
        sentence=gettext_noop("Speaks TLS with a certificate for another host."),
        listen="tls_name_mismatch",
    ),
    Fault(
        name="tls_expired",
        sentence=gettext_noop("Speaks TLS with a certificate that ended yesterday."),
        listen="tls_expired",
    ),
    Fault(
        name="tls_self_signed",
        sentence=gettext_noop("Speaks TLS with a certificate that signs itself."),
        listen="tls_self_signed",
    ),
)
