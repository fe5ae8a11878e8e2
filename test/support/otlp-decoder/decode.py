"""Decodes OTLP export requests with the definitions of the OpenTelemetry project.

Reads lines {"protobuf": base64} or {"json": text}, of traces or, with "signal": "metrics", of metrics; prints for each the request as JSON, with ids in hexadecimal.
A field that the definitions do not have is an error.
"""

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

ID_FIELDS = ("traceId", "spanId", "parentSpanId")


def convert_ids(part, convert):
    if isinstance(part, list):
        return [convert_ids(item, convert) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: convert(value) if key in ID_FIELDS else convert_ids(value, convert) for key, value in part.items()
    }


def to_base64(text):
    return base64.b64encode(bytes.fromhex(text)).decode()


def to_hex(text):
    return base64.b64decode(text).hex()


def parse(line):
    source = json.loads(line)
    Request = ExportMetricsServiceRequest if source.get("signal") == "metrics" else ExportTraceServiceRequest
    if "protobuf" in source:
        return Request.FromString(base64.b64decode(source["protobuf"]))
    # The JSON of OTLP is that of protobuf, except that ids are hexadecimal.
    request = convert_ids(json.loads(source["json"]), to_base64)
    return json_format.ParseDict(request, Request())


for line in sys.stdin:
    print(json.dumps(convert_ids(json_format.MessageToDict(parse(line)), to_hex)))
