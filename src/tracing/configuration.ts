/**
 * The file of `--tracing-config-file`: form and validation. Source: the answers of kube-apiserver 1.32, and its
 * `component-base/tracing/api/v1`.
 */
import { type Form, readDocument, refuseWith, textValue } from "#codec/config-document.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseReference } from "#meta/go-url.ts";

export interface TracingConfiguration {
  /** The address of the collector as gRPC names it; absent or empty: the usual one, on this machine. */
  readonly endpoint: string;
  /** The number of requests of a million that are traced. */
  readonly samplingRatePerMillion: number;
}

const group = "apiserver.config.k8s.io";
const int32Value: Form<number> = { type: "integer", format: "int32" };
const rateMax = 1_000_000;

/** Reads the file. Throws `ConfigError` with all errors. */
export function readTracingConfiguration(text: string, domain: ApiDomain): TracingConfiguration {
  const { endpoint = "", samplingRatePerMillion = 0 } = readDocument(text, {
    kind: "TracingConfiguration",
    apiVersions: ["v1beta1", "v1alpha1"].map((version) => `${domain.rename(group)}/${version}`),
    fields: { endpoint: textValue, samplingRatePerMillion: int32Value },
  });
  refuseWith([...checkRate(samplingRatePerMillion), ...checkEndpoint(endpoint)]);
  return { endpoint, samplingRatePerMillion };
}

function checkRate(rate: number): FieldError[] {
  const path = FieldPath.of("samplingRatePerMillion");
  if (rate < 0) return [invalid(path, rate, "sampling rate must be positive")];
  if (rate <= rateMax) return [];
  return [invalid(path, rate, "sampling rate per million must be less than or equal to one million")];
}

const schemes = ["dns", "unix", "unix-abstract"];

function checkEndpoint(endpoint: string): FieldError[] {
  const path = FieldPath.of("endpoint");
  const url = endpoint.includes("//") ? endpoint : `dns://${endpoint}`;
  const parsed = parseReference(url);
  if ("fault" in parsed) return [invalid(path, url, parsed.fault)];
  const scheme = /^([^:/]*):/.exec(url)?.[1]?.toLowerCase() ?? "";
  if (!schemes.includes(scheme)) {
    const options = "Options are none, dns, unix, or unix-abstract";
    const source = "https://github.com/grpc/grpc/blob/master/doc/naming.md";
    return [invalid(path, url, `unsupported scheme: ${scheme}.  ${options}.  See ${source}`)];
  }
  if (scheme === "unix-abstract" || endpoint.startsWith("unix-abstract:")) {
    return [invalid(path, url, "sockets without a file are not supported here: use unix")];
  }
  return [];
}
