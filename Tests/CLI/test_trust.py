# Wherry: tests of trust on the command line.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any, Iterator

import pytest
from conftest import GUARD, ROOT, Result, wherry


class Authority:
    """Good and bad certificates, and a server that presents the one selected by the server name."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.pins: dict[str, str] = told["pins"]

    def path(self, name: str) -> str:
        return f"{self.told['folder']}/{name}"

    def url(self, host: str, path: str = "/bytes/3", port: str = "tls_port") -> str:
        return f"https://{host}.localhost:{self.told[port]}{path}"

    def get(self, url: str, *options: object) -> Result:
        return wherry("get", url, "--cacert", self.path("ca.pem"), *options)


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    process = subprocess.Popen(
        [sys.executable, "-m", "wherry_testserver.authority"],
        cwd=ROOT / "Tests/TestServer",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Authority(json.loads(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(GUARD)
        process.stdout.close()


def test_S1_S6_bad_certificates_have_exit_status_5_and_a_reason(authority: Authority) -> None:
    assert authority.get(authority.url("good")).status == 0
    for host, words in (
        ("expired", "has expired"),
        ("wrong-name", "no alternative certificate"),
        ("cn-only", "no subjectAltName"),
        ("self-signed", "self-signed"),
        ("unknown-root", "issuer"),
        ("weak-key", "key too weak"),
    ):
        done = authority.get(authority.url(host))
        assert done.status == 5 and done.out == b"", host
        assert words in done.err and f"{host}.localhost" in done.err, done.err


def test_S1_only_insecure_accepts_any_certificate(authority: Authority) -> None:
    url = authority.url("self-signed")
    ca = authority.path("ca.pem")
    done = wherry("get", authority.url("good"), SSL_CERT_FILE=ca, CURL_CA_BUNDLE=ca, REQUESTS_CA_BUNDLE=ca)
    assert done.status == 5
    done = wherry("get", url, "--insecure")
    assert done.status == 0 and done.err.count("trusts anybody") == 1


def test_SEC_T1_roots_are_a_file_or_a_folder(authority: Authority) -> None:
    roots = authority.path("roots")
    assert wherry("get", authority.url("good"), "--capath", roots).status == 0
    assert wherry("get", authority.url("unknown-root"), "--capath", roots).status == 5
    assert wherry("get", authority.url("good"), "--cacert", "/proc/version").status == 2


def test_SEC_T2_SEC_T9_versions_revocation_lists_and_staples_are_checked(
    authority: Authority,
) -> None:
    assert authority.get(authority.url("good", port="tls11_port")).status == 5
    tls12 = authority.url("good", port="tls12_port")
    assert authority.get(tls12).status == 0
    assert authority.get(tls12, "--tlsv1.3").status == 5
    crl = ("--crlfile", authority.path("crl.pem"))
    assert authority.get(authority.url("good"), *crl).status == 0
    assert "revoked" in authority.get(authority.url("revoked"), *crl).err
    staple = authority.url("good", "/", port="staple_good_port")
    assert authority.get(staple, "--cert-status").status == 0
    assert authority.get(authority.url("good"), "--cert-status").status == 5


def test_S7_a_client_certificate_and_its_password_are_used(
    authority: Authority,
    tmp_path: pathlib.Path,
) -> None:
    url = authority.url("good", port="client_port")
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    assert authority.get(url).status == 5
    for options in (
        ("--cert", authority.path("client.both.pem")),
        ("--cert", authority.path("client.pem"), "--key", authority.path("client.key")),
        ("--cert", authority.path("client.p12"), "--pass", f"@{secret}"),
        ("--cert", authority.path("client.pem"), "--key", authority.path("client.locked.key"), "--pass", "open sesame"),
    ):
        done = authority.get(url, *options)
        assert done.status == 0, done.err
        target = tmp_path / "file"
        assert (
            wherry(
                "download", url, "--output", target, "--cacert", authority.path("ca.pem"), *options, "--overwrite"
            ).status
            == 0
        )
    done = authority.get(url, "--cert", authority.path("client.p12"), "--pass", "shut", "--debug")
    assert done.status == 5 and "shut" not in done.err
    assert authority.get(url, "--key", "x").status == 2


def test_S8_pins_have_the_format_of_curl(authority: Authority) -> None:
    good, rotated = (authority.pins[kind].replace("sha256/", "sha256//") for kind in ("good", "rotated"))
    for pins in (good, f"{rotated};{good}", authority.path("good.pub"), authority.path("good.der")):
        assert authority.get(authority.url("good"), "--pinnedpubkey", pins).status == 0
        assert authority.get(authority.url("chained"), "--pinnedpubkey", pins).status == 5
    assert authority.get(authority.url("good"), "--pinnedpubkey", "sha256//x").status == 2


# The combination was refused. As in curl, the pins are checked and nothing else.
def test_S8_pins_are_checked_with_insecure(authority: Authority) -> None:
    good = authority.pins["good"].replace("sha256/", "sha256//")
    accepted = wherry("get", authority.url("good"), "--insecure", "--pinnedpubkey", good)
    assert accepted.status == 0 and "invalid certificates" in accepted.err
    assert wherry("get", authority.url("expired"), "-k", "--pinnedpubkey", authority.path("good.pub")).status == 5
    refused = wherry("get", authority.url("rotated"), "-k", "--pinnedpubkey", good)
    assert refused.status == 5 and "--pinnedpubkey" in refused.err


def test_S10_SEC_U7_https_only_and_public_addresses_only_are_enforced(authority: Authority) -> None:
    plain = f"http://127.0.0.1:{authority.told['port']}/bytes/3"
    assert wherry("get", plain).status == 0
    assert wherry("get", plain, "--https-only").status == 2
    assert wherry("get", plain, "--deny-private").status == 4
    assert authority.get(authority.url("good"), "--https-only").status == 0


def test_SEC_T3_a_common_name_never_matches_an_address(authority: Authority) -> None:
    done = authority.get(f"https://127.0.0.1:{authority.told['address_port']}/bytes/3")
    assert done.status == 5 and "no subjectAltName" in done.err, done.err


def test_SEC_R4_a_possibly_truncated_body_is_an_error_on_request(authority: Authority) -> None:
    cut = authority.url("good", "/bytes/1000?no_length=1&cut=400&unclean=1")
    ended = authority.url("good", "/bytes/1000?no_length=1")
    assert len(authority.get(cut).out) == 400
    done = authority.get(cut, "--require-verified-length")
    assert done.status != 0 and "without close_notify" in done.err, done.err
    done = authority.get(ended, "--require-verified-length")
    assert done.status == 0 and len(done.out) == 1000, done.err


def test_SEC_R4_a_possibly_truncated_body_is_a_warning(
    authority: Authority,
    tmp_path: pathlib.Path,
) -> None:
    # The command printed the beginning of a body and exited with 0, without a message.
    cut = authority.url("good", "/bytes/1000?no_length=1&cut=400&unclean=1")
    ended = authority.url("good", "/bytes/1000?no_length=1")
    warning = "the body may be incomplete"

    for options in ((), ("-o", tmp_path / "file"), ("--cache", 60, "--cache-directory", tmp_path / "store")):
        told = authority.get(cut, *options)
        assert told.status == 0 and warning in told.err and "--require-verified-length" in told.err, told
    assert authority.get(cut, "--quiet").err == ""
    for options in ((), ("-o", tmp_path / "file")):
        told = authority.get(cut, "--json-output", "--progress", "none", *options)
        assert told.json["length_unverified"] is True and told.json["bytes"] == 400 and told.err == ""
    assert warning not in authority.get(ended).err
    assert "length_unverified" not in authority.get(ended, "--json-output").json
    refused = wherry("download", cut, "-o", tmp_path / "whole", "--cacert", authority.path("ca.pem"), "--retries", "0")
    assert refused.status == 4 and not (tmp_path / "whole").exists()


def test_SEC_T11_TLS_session_secrets_are_written_to_the_file_that_the_environment_names(
    authority: Authority, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "keys"
    done = wherry("get", authority.url("good"), "--cacert", authority.path("ca.pem"), SSLKEYLOGFILE=str(file))
    assert done.status == 0 and "SECRET" in file.read_text()
