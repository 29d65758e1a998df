/** The file of `--tracing-config-file`. The messages were compared with those of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { readTracingConfiguration } from "./configuration.ts";

const head = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n";
const read = (fields: string) => readTracingConfiguration(head + fields, kubernetesDomain);

test("both versions are read, and every field may be missing", () => {
  assert.deepEqual(read("endpoint: localhost:4317\nsamplingRatePerMillion: 100\n"), {
    endpoint: "localhost:4317",
    samplingRatePerMillion: 100,
  });
  const older = head.replace("v1beta1", "v1alpha1");
  assert.deepEqual(readTracingConfiguration(older, kubernetesDomain), { endpoint: "", samplingRatePerMillion: 0 });
  const own = head.replace("k8s.io", "platform.io");
  assert.equal(readTracingConfiguration(own, apiDomain("platform.io")).endpoint, "");
});

test("rates and addresses are validated", () => {
  const check = (fields: string, message: string) => assert.throws(() => read(fields), { message }, fields);
  check("samplingRatePerMillion: -1\n", "samplingRatePerMillion: Invalid value: -1: sampling rate must be positive");
  check(
    "samplingRatePerMillion: 1000001\n",
    "samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million",
  );
  const unsupported = (url: string, scheme: string): string =>
    `endpoint: Invalid value: "${url}": unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
  check("endpoint: http://localhost:4317\n", unsupported("http://localhost:4317", "http"));
  check("endpoint: //foo\n", unsupported("//foo", ""));
  const unreadable = (url: string, problem: string): string =>
    `endpoint: Invalid value: "${url}": parse "${url}": ${problem}`;
  check(
    "endpoint: local host:4317\n",
    unreadable("dns://local host:4317", String.raw`invalid character " " in host name`),
  );
  check("endpoint: ':foo'\n", unreadable("dns://:foo", String.raw`invalid port ":foo" after host`));
  check(
    "endpoint: dns://%zz\nsamplingRatePerMillion: -5\n",
    `[samplingRatePerMillion: Invalid value: -5: sampling rate must be positive, ${unreadable("dns://%zz", `invalid URL escape "%zz"`)}]`,
  );
  check(
    "endpoint: unix-abstract:///name\n",
    `endpoint: Invalid value: "unix-abstract:///name": sockets without a file are not supported here: use unix`,
  );
});

test("a file in another form is refused", () => {
  for (const [fields, message] of [
    ["endpoints: x\n", /unknown field "endpoints"/],
    ["endpoint: x\nendpoint: y\n", /endpoint/],
    ["endpoint: 5\n", /endpoint/],
    ["samplingRatePerMillion: '5'\n", /samplingRatePerMillion/],
    ["samplingRatePerMillion: 1.5\n", /samplingRatePerMillion/],
    ["samplingRatePerMillion: 99999999999\n", /samplingRatePerMillion/],
  ] as const) {
    assert.throws(() => read(fields), message, fields);
  }
  for (const text of [
    "",
    "[",
    "kind: TracingConfiguration\n",
    head.replace("v1beta1", "v1"),
    head.replace("apiserver.config.k8s.io", "apiserver.k8s.io"),
    head.replace("TracingConfiguration", "EgressSelectorConfiguration"),
  ]) {
    assert.throws(() => readTracingConfiguration(text, kubernetesDomain), { name: "ConfigError" }, text);
  }
});
