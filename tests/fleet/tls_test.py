"""TLS and credentials of NATS: the daemon, a collector and digctl connect; wrong ones are refused with the reason."""

import os
import subprocess

import pytest
from digctl_fleet_test import environment, output
from fleet_test import all_published, collector, fleet_config, metric, play, readiness
from live import DIGCTL, Daemon, wait_until
from nats_server import NatsServer, need_stream_client


def authority(folder, name):
    """A certificate authority of its own, and a certificate that it signed for 127.0.0.1."""
    folder = folder / name
    folder.mkdir()

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def new_key(file):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / file)

    openssl("req", "-x509", *new_key("ca.key"), "-out", folder / "ca.pem", "-subj", f"/CN={name}", "-days", "2")
    openssl("req", *new_key("server.key"), "-out", folder / "server.csr", "-subj", "/CN=server")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        *("x509", "-req", "-in", folder / "server.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key"),
        *("-CAcreateserial", "-out", folder / "server.pem", "-days", "2", "-extfile", folder / "names"),
    )
    return folder


class Secured:
    def __init__(self, server, ca, credentials):
        self.server, self.ca, self.credentials = server, ca, credentials
        self.url = server.url.replace("nats://", "tls://")

    def config(self, **other):
        return fleet_config(self, **{"ca": str(self.ca), "credentials": str(self.credentials), **other})

    def words(self, ca=None, credentials=None):
        return [f"--ca={ca or self.ca}", f"--credentials={credentials or self.credentials}"]

    def digctl(self, *command, ca=None, credentials=None):
        words = [*command, "--fleet", self.url, f"--fleet-credentials={credentials or self.credentials}"]
        return ask(*words, DIGD_FLEET_CA=str(ca or self.ca))


def ask(*command, **variables):
    words = [DIGCTL, *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, env=environment(**variables))


# ---- credentials as `nsc` makes them: an operator trusts an account, which trusts a user


def key_pair(prefix):
    """A pair of keys of NATS, and its public name."""
    import nkeys

    seed = nkeys.encode_seed(os.urandom(32), prefix)
    pair = nkeys.from_seed(seed)
    return pair, pair.public_key.decode(), seed.decode()


def signed(issuer, issuer_name, subject, name, claims):
    import base64
    import json
    import time

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    body = {"jti": os.urandom(8).hex(), "iat": int(time.time()), "iss": issuer_name, "name": name, "sub": subject}
    text = part({"typ": "JWT", "alg": "ed25519-nkey"}) + "." + part({**body, "nats": {**claims, "version": 2}})
    return text + "." + base64.urlsafe_b64encode(issuer.sign(text.encode())).rstrip(b"=").decode()


NO_LIMIT = -1
SYSTEM_LIMITS = {
    **dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), NO_LIMIT),
    "wildcards": True,
}
ACCOUNT_LIMITS = {
    **SYSTEM_LIMITS,
    **dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), NO_LIMIT),
}
USER_LIMITS = dict.fromkeys(("subs", "data", "payload"), NO_LIMIT)


def operator(folder):
    """The server's configuration for credentials, those of a user, and those that another operator would accept."""
    import nkeys

    users = []
    for _ in range(2):
        root, root_name, _ = key_pair(nkeys.PREFIX_BYTE_OPERATOR)
        account, account_name, _ = key_pair(nkeys.PREFIX_BYTE_ACCOUNT)
        _, user_name, user_seed = key_pair(nkeys.PREFIX_BYTE_USER)
        operator_jwt = signed(root, root_name, root_name, "operator", {"type": "operator"})
        account_jwt = signed(root, root_name, account_name, "shop", {"type": "account", "limits": ACCOUNT_LIMITS})
        _, system_name, _ = key_pair(nkeys.PREFIX_BYTE_ACCOUNT)
        system_jwt = signed(root, root_name, system_name, "system", {"type": "account", "limits": SYSTEM_LIMITS})
        accounts = f'{account_name}: "{account_jwt}", {system_name}: "{system_jwt}"'
        trust = f'operator: "{operator_jwt}"\nsystem_account: {system_name}\n'
        trust += f"resolver: MEMORY\nresolver_preload: {{ {accounts} }}\n"
        user_jwt = signed(account, account_name, user_name, "user", {"type": "user", **USER_LIMITS})
        users.append((trust, user_jwt, user_seed))
    files = []
    for i, (*_, jwt, seed) in enumerate(users):
        files.append(folder / f"user{i}.creds")
        files[-1].write_text(
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    return users[0][0], *files


@pytest.fixture
def secured(tmp_path):
    """The server, another authority, and credentials that it does not accept."""
    need_stream_client()
    ours, other = authority(tmp_path, "ours"), authority(tmp_path, "other")
    trust, good, bad = operator(tmp_path)
    tls = f'tls {{ cert_file: "{ours}/server.pem", key_file: "{ours}/server.key" }}\n'
    with NatsServer(tmp_path / "nats", more=tls + trust) as server:
        yield Secured(server, ours / "ca.pem", good), other / "ca.pem", bad


def collect_all(secured, root):
    running = collector(secured, root, "--until-empty", "--batch-seconds", "0.5", *secured.words())
    _, err = running.communicate(timeout=120)
    assert running.returncode == 0, err


def test_every_part_connects_with_tls_and_credentials(secured, tmp_path):
    secured, _, _ = secured
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", secured.config()) as daemon:
        play(daemon, "r0")
        wait_until(lambda: all_published(daemon), "the publication")
        collect_all(secured, lake)
        play(daemon, "r1")
        wait_until(lambda: all_published(daemon), "the publication")
        listed = secured.digctl("runs", "--format", "jsonl", "--fleet", lake)
        assert listed.returncode == 0, listed.stderr
        assert listed.stdout == output("runs", "--format", "jsonl", "--data-dir", daemon.data)
        assert listed.stdout.count("\n") == 2, "a run from the files, and another from the stream"


@pytest.mark.parametrize("wrong", ["authority", "credentials", "no file"])
def test_a_wrong_authority_or_credential_is_refused_by_name(secured, tmp_path, wrong):
    secured, other_authority, bad_credentials = secured
    chosen, config, reason = {
        "authority": ({"ca": other_authority}, {"ca": str(other_authority)}, "certificate"),
        "credentials": ({"credentials": bad_credentials}, {"credentials": str(bad_credentials)}, "uthorization"),
        "no file": ({"credentials": tmp_path / "none"}, {"credentials": str(tmp_path / "none")}, "none"),
    }[wrong]
    with Daemon(tmp_path / "d", secured.config(**config)) as daemon:
        play(daemon, "r0")  # judged and archived without NATS
        wait_until(lambda: any(note["code"] == "fleet" for note in readiness(daemon).get("notes", [])), "the note")
        [note] = [note for note in readiness(daemon).get("notes", []) if note["code"] == "fleet"]
        if reason not in str(note):
            daemon.wait_logged(reason)
        assert not metric(daemon, "digd_fleet_published_total")
    refused = secured.digctl("runs", "--fleet", tmp_path / "lake", **chosen)
    assert refused.returncode == 2 and reason in refused.stderr, refused.stderr
    running = collector(secured, tmp_path / "lake", *secured.words(**chosen))
    try:
        line = next(line for line in running.stderr if line.startswith("digd.fleet:"))
        assert reason in line, line
    finally:
        running.kill()
        running.communicate()


def test_a_server_without_tls_is_refused_where_an_authority_is_named(tmp_path):
    need_stream_client()
    ours = authority(tmp_path, "ours")
    with NatsServer(tmp_path / "nats") as plain:
        with Daemon(tmp_path / "d", fleet_config(plain, ca=str(ours / "ca.pem"))) as daemon:
            play(daemon, "r0")
            wait_until(lambda: any(note["code"] == "fleet" for note in readiness(daemon).get("notes", [])), "the note")
            assert not metric(daemon, "digd_fleet_published_total")
        by_scheme = plain.url.replace("nats:", "tls:")
        for url, variables in ((plain.url, {"DIGD_FLEET_CA": str(ours / "ca.pem")}), (by_scheme, {})):
            refused = ask("runs", "--fleet", tmp_path, "--fleet", url, **variables)
            assert refused.returncode == 2 and f"{url}: the server offers no TLS" in refused.stderr, refused.stderr
