"""Reads the spans of an OTLP request (protobuf), with nothing but the numbers of opentelemetry-proto's fields."""

import struct


def fields(data):
    """The fields of a message: (number, value); the value is an int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            assert key & 7 == 2, key
            size = varint()
            assert at + size <= len(data)
            yield key >> 3, data[at : at + size]
            at += size


def all_of(data, number):
    return [value for n, value in fields(data) if n == number]


def attributes(data, number):
    out = {}
    for pair in all_of(data, number):
        (key,), (value,) = all_of(pair, 1), all_of(pair, 2)
        ((kind, content),) = fields(value)
        out[key.decode()] = {1: bytes.decode, 2: bool, 3: int}[kind](content)
    return out


def span_of(data):
    (name,), (trace,), (own,) = all_of(data, 5), all_of(data, 1), all_of(data, 2)
    return {
        "name": name.decode(),
        "trace": trace.hex(),
        "id": own.hex(),
        "parent": b"".join(all_of(data, 4)).hex(),
        "start_ns": all_of(data, 7)[0],
        "end_ns": all_of(data, 8)[0],
        "attributes": attributes(data, 9),
        "events": [
            {"at_ns": all_of(e, 1)[0], "name": all_of(e, 2)[0].decode(), "attributes": attributes(e, 3)}
            for e in all_of(data, 11)
        ],
        "is_error": any(all_of(status, 3) == [2] for status in all_of(data, 15)),
    }


def spans_of(request):
    """The spans of an ExportTraceServiceRequest, each with the attributes of its resource."""
    return [
        {**span_of(span), "resource": attributes(resource, 1)}
        for resource_spans in all_of(request, 1)
        for resource in all_of(resource_spans, 1)
        for scope_spans in all_of(resource_spans, 2)
        for span in all_of(scope_spans, 2)
    ]
