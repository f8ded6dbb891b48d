# Wherry: client trust: certificates, pins, client certificates, addresses
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any, Dict, List, Tuple

import pytest
from conftest import ROOT, Authority, Server, run_python

import wherry

with open(os.path.join(ROOT, "Tests", "Scenarios", "certificates.json"), encoding="utf-8") as _file:
    CASES: List[Dict[str, str]] = json.load(_file)["cases"]

Refusals = (wherry.TLSError, wherry.ArgumentError, wherry.NetworkError)


def ending(url: str, **settings: Any) -> str:
    """The result of a new client's GET: "" on success, otherwise the reason."""
    try:
        with wherry.Client(proxy="", **settings) as client:
            client.get(url)
    except Refusals as error:
        return error.reason
    return ""


# Certificates


def test_S1_SEC_T2_SEC_T4_SEC_T13_each_bad_certificate_is_refused_with_its_reason(
    authority: Authority, key: str
) -> None:
    good = [case["host"] for case in CASES if not case["reason"]]
    with wherry.Client(verify=authority.ca, proxy="") as client:
        for case in CASES:
            kind = case["host"].split(".")[-1]
            url = authority.url(case["host"], key)
            try:
                client.get(url)
                reason = ""
            except wherry.TLSError as error:
                reason = error.reason
            assert reason == case["reason"], case
            # A matching pin does not help.
            pins = {"*": authority.pins[kind]}
            assert ending(url, verify=authority.ca, pins=pins) == case["reason"], case
    assert len(authority.log(key)) == 2 * len(good)


def test_SEC_T3_a_common_name_never_matches_a_host_or_an_address(authority: Authority, key: str) -> None:
    # libcurl compares the common name without a subjectAltName, for IP addresses too.
    by_address = f"https://127.0.0.1:{authority.told['address_port']}/@{key}/echo"
    for url in (authority.url("cn-only", key), authority.url("cn-email", key), by_address):
        with wherry.Client(verify=authority.ca, proxy="") as client:
            with pytest.raises(wherry.TLSError) as caught:
                client.get(url)
        assert caught.value.reason == "wrong_name"
        assert "has no subjectAltName" in caught.value.message
        # The name is ignored if names are not checked.
        with wherry.Client(verify=authority.ca, proxy="", check_name=False) as client:
            assert client.get(url).status_code == 200


def test_S6_a_failure_names_host_certificate_and_reason(authority: Authority, key: str) -> None:
    async def main() -> str:
        async with wherry.AsyncClient(verify=authority.ca, proxy="") as client:
            with pytest.raises(wherry.TLSError) as caught:
                await client.get(authority.url("expired", key))
            return caught.value.message

    with wherry.Client(verify=authority.ca, proxy="") as client:
        with pytest.raises(wherry.TLSError) as caught:
            client.get(authority.url("expired", key))
    for message in (caught.value.message, asyncio.run(main())):
        for words in ("expired.localhost", "/CN=expired", "/CN=Wherry ca", "has expired"):
            assert words in message


def test_S1_SEC_T1_the_environment_never_changes_trust(authority: Authority, key: str) -> None:
    code = f"""
import wherry
try:
    wherry.get({authority.url("good", key)!r})
except wherry.TLSError as error:
    print(error.reason)
with wherry.Client(verify={authority.ca!r}) as client:
    print(client.get({authority.url("good", key)!r}).status_code)
"""
    folder = authority.path("roots")
    keys = authority.path("keys.log")
    for environment in (
        {"SSL_CERT_FILE": authority.ca, "SSL_CERT_DIR": folder},
        {"CURL_CA_BUNDLE": authority.ca, "REQUESTS_CA_BUNDLE": authority.ca},
        {"CURL_CA_PATH": folder, "PYTHONHTTPSVERIFY": "0", "CURL_SSL_BACKEND": "none"},
        {"SSL_CERT_FILE": "/nonexistent", "SSLKEYLOGFILE": keys},
    ):
        done = run_python(code, environment)
        assert done.stdout.split() == ["untrusted", "200"], (environment, done.stderr)
    # docs/security.md describes this: SEC-T11.
    assert os.path.getsize(keys) > 0


def test_S1_insecure_warns_once(authority: Authority, key: str) -> None:
    code = f"""
import wherry
for host in {[authority.url(host, key) for host in ("expired", "self-signed")]!r}:
    with wherry.Client(verify=False) as client:
        print(client.get(host).status_code)
"""
    done = run_python(code)
    assert done.stdout.split() == ["200", "200"]
    assert done.stderr.count("trusts anybody") == 1


def test_SEC_T1_roots_are_a_file_a_folder_or_bytes(authority: Authority, key: str) -> None:
    url = authority.url("good", key)
    with open(authority.ca, "rb") as file:
        pem = file.read()
    for verify in (authority.ca, authority.path("roots"), pem):
        assert ending(url, verify=verify) == ""
        assert ending(authority.url("unknown-root", key), verify=verify) == "untrusted"
    with pytest.raises(wherry.FileError):
        wherry.Client(verify="/nonexistent")
    for wrong in ("/proc/version", b"abc"):
        with pytest.raises(wherry.ArgumentError) as caught:
            wherry.Client(verify=wrong)
        assert caught.value.reason == "bad_certificate"
    for nothing in ("", b"", None, 1):
        with pytest.raises(TypeError):
            wherry.Client(verify=nothing)  # type: ignore[arg-type]


def test_SEC_T2_old_versions_and_anonymous_ciphers_are_refused(authority: Authority, key: str) -> None:
    for port in ("tls11_port", "anonymous_port"):
        assert ending(authority.url("good", key, port=port), verify=authority.ca) == "tls_protocol"
    url = authority.url("good", key, port="tls12_port")
    assert ending(url, verify=authority.ca) == ""
    assert ending(url, verify=authority.ca, require_tls_1_3=True) == "tls_protocol"
    assert ending(authority.url("good", key), verify=authority.ca, require_tls_1_3=True) == ""


def test_S10_SEC_T9_certificates_are_revoked_by_list_and_by_staple(authority: Authority, key: str) -> None:
    crl = {"verify": authority.ca, "crl_file": authority.path("crl.pem")}
    assert ending(authority.url("revoked", key), verify=authority.ca) == ""
    assert ending(authority.url("revoked", key), **crl) == "revoked"
    assert ending(authority.url("good", key), **crl) == ""
    staple = {"verify": authority.ca, "require_staple": True}
    for kind, reason in (("good", ""), ("revoked", "revoked")):
        url = f"https://{kind}.localhost:{authority.told[f'staple_{kind}_port']}/"
        assert ending(url, **staple) == reason
    assert ending(authority.url("good", key), **staple) == "untrusted"


# Client certificates


def test_S7_SEC_T10_a_client_certificate_is_sent_only_to_its_origin(authority: Authority, key: str, capfd: Any) -> None:
    url = authority.url("good", key, port="client_port")
    away = authority.url("chained", key, port="client_port")
    origin = url.split("/@")[0]
    pem, password = authority.path("client.pem"), "open sesame"
    certs: Tuple[Any, ...] = (
        authority.path("client.both.pem"),
        (pem, authority.path("client.key")),
        (pem, authority.path("client.locked.key"), password),
        (authority.path("client.p12"), None, password),
    )
    for cert in certs:
        assert ending(url, verify=authority.ca, cert={origin: cert}) == ""
        assert ending(away, verify=authority.ca, cert={origin: cert}) == "client_certificate"
        with wherry.Client(base_url=origin, verify=authority.ca, cert=cert, proxy="") as client:
            assert client.get(f"/@{key}/echo").ok
            with pytest.raises(wherry.TLSError) as caught:
                client.get(f"/@{key}/redirect-to", params={"url": away})
            assert caught.value.reason == "client_certificate"
    alien = (authority.path("alien.pem"), authority.path("alien.key"))
    assert ending(url, verify=authority.ca) == "client_certificate"
    assert ending(url, verify=authority.ca, cert={origin: alien}) == "client_certificate"
    assert ending(url, verify=authority.ca, cert={origin: (pem, alien[1])}) == "tls"
    # A missing password does not cause a prompt.
    locked = (pem, authority.path("client.locked.key"))
    assert ending(url, verify=authority.ca, cert={origin: locked}) == "tls"
    assert {told["path"] for told in authority.log(key)} == {"/echo", "/redirect-to"}
    for wrong, reason in (
        ({"http://a": certs[0]}, "bad_url"), (certs[0], "bad_url"), ({origin: pem}, "bad_certificate"),
        ({origin: "/proc/version"}, "bad_certificate"),
    ):  # fmt: skip
        with pytest.raises(wherry.ArgumentError) as refused:
            wherry.Client(cert=wrong)
        assert refused.value.reason == reason
    with pytest.raises(TypeError) as mistaken:
        wherry.Client(cert=(pem, "key", password, "more"))
    assert password not in str(mistaken.value)
    assert password not in "".join(capfd.readouterr())


def test_SEC_C10_neither_password_nor_key_is_on_disk_or_in_the_log(
    authority: Authority, key: str, tmp_path: Any
) -> None:
    secret = "open sesame"
    port = authority.told["client_port"]
    code = f"""
import wherry
base = "https://good.localhost:{port}"
settings = {{"verify": {authority.ca!r}, "base_url": base, "proxy": "", "debug": True, "max_retries": 0,
    "storage_directory": {str(tmp_path / "store")!r}, "cache": True}}
cert = ({authority.path("client.pem")!r}, {authority.path("client.locked.key")!r})
with wherry.Client(cert=(*cert, {secret!r}), **settings) as client:
    client.get("/@{key}/cache?control=max-age%3D3600")
    client.get("/@{key}/bytes/10", cache=3600)
    try:
        client.download("/@{key}/bytes/1000000?cut=500000", {str(tmp_path / "file")!r})
    except wherry.NetworkError as error:
        print(error.reason)
with wherry.Client(cert=(*cert, "shut" + {secret!r}), **settings) as client:
    try:
        client.get("/@{key}/echo")
    except wherry.TLSError as error:
        print(error.reason)
"""
    done = run_python(code)
    assert done.stdout.split() == ["truncated", "tls"], done.stderr
    assert "Request failed" in done.stderr
    kept = [os.path.join(folder, name) for folder, _, names in os.walk(tmp_path) for name in names]
    assert len(kept) >= 4
    texts = [done.stderr.encode()]
    for path in kept:
        with open(path, "rb") as file:
            texts.append(file.read())
    for text in texts:
        for planted in (secret, "client.locked.key", "client.pem"):
            assert planted.encode() not in text


def test_S12_SEC_C5_stored_files_are_private_whatever_the_umask(server: Server, tmp_path: Any) -> None:
    for mask in (0, 0o077):
        store = str(tmp_path / str(mask))
        code = f"""
import os, wherry
os.umask({mask})
with wherry.Client(storage_directory={store!r}, cache=True) as client:
    client.get({server.url("/bytes/10")!r}, cache=3600)
    client.get({server.url("/cache", control="max-age=60")!r})
"""
        assert run_python(code).stderr == ""
        count = 0
        for folder, _, names in os.walk(store):
            assert os.stat(folder).st_mode & 0o7777 == 0o700
            for name in names:
                count += 1
                assert os.stat(os.path.join(folder, name)).st_mode & 0o7777 == 0o600, name
        assert count >= 2


# Pins


@pytest.mark.parametrize("mode", ["keys", "certificates"])
def test_S3_the_sixteen_pin_cases_have_the_expected_results(
    authority: Authority,
    key: str,
    mode: str,
) -> None:
    for number in range(16):
        allow, name, pinned, valid = (bool(number >> bit & 1) for bit in range(4))
        kind = "good" if valid else "self-signed"
        pin = authority.pins[kind] if mode == "keys" else authority.path(f"{kind}.pem")
        got = ending(
            authority.url(kind, key), verify=authority.ca, allow_invalid=allow, check_name=name,
            pin_mode=mode, pins={"*": pin} if pinned else None,
        )  # fmt: skip
        if allow and name and not pinned:
            assert got == "bad_pin", number
        else:
            assert got == ("" if valid or allow else "untrusted"), number


def test_S2_S4_S8_SEC_T5_a_pin_matches_the_key_of_the_server(
    authority: Authority,
    key: str,
) -> None:
    with open(authority.path("good.der"), "rb") as file:
        der = file.read()
    good = authority.pins["good"]

    def got(host: str, pins: Any, **more: Any) -> str:
        return ending(authority.url(host, key), verify=authority.ca, pins={"*": pins}, **more)

    for pins in (
        good, [good], [authority.pins["ca"], good], "sha256//" + good[7:], authority.path("good.der"),
        authority.path("good.pem"), authority.path("good.pub"), authority.path("pins"), der, [der],
    ):  # fmt: skip
        assert got("good", pins) == ""
        assert got("renewed", pins) == ""
        assert got("chained", pins) == "pin"
    assert got("rotated", good) == "pin"
    assert got("rotated", [good, authority.pins["rotated"]]) == ""
    # The server's own key, not another key in the chain.
    for kind in ("inter", "ca"):
        assert got("chained", authority.pins[kind]) == "pin"
        path = authority.path(f"{kind}.pem")
        assert got("chained", path) == "pin"
        assert got("chained", path, pin_mode="certificates") == ""
    assert got("good", authority.path("inter.pem"), pin_mode="certificates") == "pin"
    # A chain that contains the pinned certificate but is not issued by it.
    for mode in ("keys", "certificates"):
        stuffed = ending(
            authority.url("stuffed", key), verify=authority.path("stranger.pem"), pin_mode=mode,
            pins={"*": [authority.path("good.pem"), authority.path("inter.pem")]},
        )  # fmt: skip
        assert stuffed == "pin"


def test_S9_SEC_T7_pins_apply_per_host_and_are_checked_at_every_redirect(authority: Authority, key: str) -> None:
    pins = {"good.localhost": authority.pins["good"], "*.localhost": authority.pins["rotated"]}
    settings: Dict[str, Any] = {"verify": authority.ca, "pins": pins, "proxy": ""}
    with wherry.Client(**settings) as client:
        for host, reason in (("good", ""), ("rotated", ""), ("chained", "pin"), ("good", "")):
            try:
                client.get(authority.url(host, key))
                assert reason == ""
            except wherry.TLSError as error:
                assert error.reason == reason
        with pytest.raises(wherry.TLSError):
            client.get(
                authority.url("good", key, "/redirect-to"),
                params={"url": authority.url("chained", key)},
            )
        local = f"https://localhost:{authority.told['tls_port']}/"
        assert client.get(local).status_code
    assert ending(local, require_pins=True, **{"verify": authority.ca, "pins": pins}) == "pin"
    # Without TLS a pinned host is unverified.
    plain = authority.plain(key, host="good.localhost")
    assert ending(plain, verify=authority.ca, pins=pins) == "pin"
    assert [told["path"] for told in authority.log(key)] == ["/echo"] * 3 + ["/redirect-to"]


def test_S5_SEC_T6_an_invalid_pin_is_an_error_at_once(authority: Authority) -> None:
    good = authority.pins["good"]
    wrongs: List[Dict[str, Any]] = [
        {"pins": {"a": []}}, {"pins": {"a": ""}}, {"pins": {"a": "sha256/"}}, {"pins": {"a": good[:-1]}},
        {"pins": {"a": b"no certificate"}}, {"pins": {"a": "/proc/version"}}, {"pins": {"": good}},
        {"pins": {"https://a": good}}, {"pins": {"a:443": good}}, {"pins": {"*.*": good}},
        {"pins": {"a": good}, "verify": False}, {"require_pins": True}, {"allow_invalid": True},
        {"pin_expiry": {"a": 1}},
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(wherry.ArgumentError) as caught:
            wherry.Client(**wrong)
        assert caught.value.reason == "bad_pin", wrong
    for base in ("http://a.example/", "http://A.example./"):
        with pytest.raises(wherry.ArgumentError) as caught:
            wherry.Client(base_url=base, pins={"a.example": good})
        assert caught.value.reason == "bad_pin"
    for settings in ({"pin_mode": "chain"}, {"deny_addresses": "all"}):
        with pytest.raises(wherry.ArgumentError):
            wherry.Client(**settings)  # type: ignore[arg-type]


def test_S8_pins_report_or_fail(authority: Authority, key: str) -> None:
    code = f"""
import wherry
settings = {{"verify": {authority.ca!r}, "proxy": "", "pins": {{"*": {authority.pins["good"]!r}}}}}
with wherry.Client(report_pins=True, **settings) as client:
    for host in {[authority.url(host, key) for host in ("good", "rotated", "rotated")]!r}:
        print(client.get(host).status_code)
"""
    done = run_python(code)
    assert done.stdout.split() == ["200"] * 3
    told = done.stderr.splitlines()
    assert len(told) == 1 and "rotated.localhost" in told[0]
    assert authority.pins["rotated"] in told[0] and "only report" in told[0]

    now = time.time()
    for end, reason in ((now - 1000, ""), (now + 100_000, "pin")):
        pins = {"*": authority.pins["good"]}
        url = authority.url("rotated", key)
        assert ending(url, verify=authority.ca, pins=pins, pin_expiry={"*": end}) == reason


# Addresses and https_only


def test_S10_https_only_refuses_other_URLs(authority: Authority, key: str, tmp_path: Any) -> None:
    with wherry.Client(verify=authority.ca, proxy="", https_only=True) as client:
        for ask in (client.get, lambda url: client.download(url, tmp_path / "file")):
            with pytest.raises(wherry.ArgumentError) as caught:
                ask(authority.plain(key))
            assert caught.value.reason == "https_only"
        assert client.get(authority.url("good", key)).ok
    assert len(authority.log(key)) == 1
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(base_url="http://a", https_only=True)


def test_SEC_U7_denied_addresses_get_no_connection(authority: Authority, key: str) -> None:
    for host in ("127.0.0.1", "127.1", "2130706433", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0"):
        assert ending(authority.plain(key, host=host), deny_addresses="not_public") == "address_denied"
    hop = authority.plain(key, "/redirect-to?url=http%3A%2F%2F169.254.169.254%2F")
    assert ending(hop, deny_addresses=["metadata", "private"]) == "address_denied"
    assert len(authority.log(key)) == 1
