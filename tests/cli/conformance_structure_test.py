"""The conformance vectors without their sentences: a change of texts must leave everything else as it was.

`structure.sha256` holds a digest of each expected answer without the members `inject` and `reason`. A commit that
changes a rule's sentences changes the vectors but not the digests. A commit that changes what the engine computes
changes both:

    python3 tests/cli/conformance_structure_test.py    rewrites the digests
"""

import hashlib
import json
import pathlib

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "traces" / "conformance"
DIGESTS = VECTORS / "structure.sha256"
SENTENCES = {"inject", "reason"}


def without_sentences(value):
    if isinstance(value, dict):
        return {key: without_sentences(member) for key, member in value.items() if key not in SENTENCES}
    if isinstance(value, list):
        return [without_sentences(item) for item in value]
    return value


def digest_of(path):
    digest = hashlib.sha256()
    for line in path.read_text(encoding="utf-8").splitlines():
        digest.update(json.dumps(without_sentences(json.loads(line)), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def current_digests():
    return {path.name: digest_of(path) for path in sorted(VECTORS.glob("*.expected.jsonl"))}


def test_vectors_without_their_sentences_match_the_recorded_digests():
    recorded = dict(reversed(line.split("  ")) for line in DIGESTS.read_text(encoding="utf-8").splitlines())
    assert current_digests() == recorded


def test_digests_differ_if_anything_but_a_sentence_differs():
    verdict = {"event": "e1", "action": "inject", "inject": "do it", "detections": [0]}
    assert without_sentences(verdict) == without_sentences(verdict | {"inject": "other words"})
    assert without_sentences(verdict) != without_sentences(verdict | {"action": "deliver"})


if __name__ == "__main__":
    DIGESTS.write_text("".join(f"{digest}  {name}\n" for name, digest in current_digests().items()), encoding="utf-8")
