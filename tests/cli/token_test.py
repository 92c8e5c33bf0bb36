"""digctl token: adds tokens to a file that digd reads."""

import tomllib


def test_a_token_is_added_behind_a_last_line_without_line_end(digctl, tmp_path):
    tokens = tmp_path / "tokens.toml"
    tokens.write_text('[[token]]\nname = "first"\nrights = ["read"]')
    got = digctl("token", "second", "--rights", "ingest,read", "--append", tokens)
    assert got.returncode == 0, got.stderr
    first, second = tomllib.loads(tokens.read_text())["token"]
    assert (first["name"], first["rights"]) == ("first", ["read"])
    assert (second["name"], second["rights"]) == ("second", ["ingest", "read"])


def test_tokens_of_a_new_file_are_separated_by_one_empty_line(digctl, tmp_path):
    tokens = tmp_path / "tokens.toml"
    for name in ("first", "second"):
        assert digctl("token", name, "--rights", "read", "--append", tokens).returncode == 0
    assert tokens.read_text().count("\n\n") == 2
    assert tokens.stat().st_mode & 0o777 == 0o600


def test_a_name_of_any_characters_is_valid_toml(digctl, tmp_path):
    name, tokens = "\U000e0067 \U0001f600 \"\\ \x7f", tmp_path / "tokens.toml"
    assert digctl("token", name, "--rights", "read", "--runs", name, "--append", tokens).returncode == 0
    (token,) = tomllib.loads(tokens.read_text())["token"]
    assert (token["name"], token["runs"]) == (name, [name])


def test_a_file_that_cannot_be_written_is_named_with_the_reason(digctl, tmp_path):
    got = digctl("token", "a", "--rights", "read", "--append", tmp_path / "none" / "tokens.toml")
    assert got.returncode == 2 and got.stdout == ""
    assert got.stderr == f"digctl token: {tmp_path}/none/tokens.toml: No such file or directory\n"
