/** Metrics of encryption at rest, with upstream's names. */
import type { KmsObserver } from "#encryption/kms.ts";
import type { TransformObserver } from "#encryption/transform-observer.ts";
import type { Clock } from "#std/clock.ts";
import type { Metrics } from "#std/metrics.ts";
import { identityHash } from "../identity.ts";

const exponential = (start: number, factor: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => start * factor ** i);

export function transformMetrics(metrics: Metrics): TransformObserver {
  const duration = metrics.histogram({
    name: "apiserver_storage_transformation_duration_seconds",
    help: "Latencies in seconds of value transformation operations.",
    labels: ["transformation_type", "transformer_prefix"],
    buckets: exponential(5e-6, 2, 25),
  });
  const count = metrics.counter({
    name: "apiserver_storage_transformation_operations_total",
    help: "Total number of transformations. Successful transformation will have a status 'OK' and a varied status string when the transformation fails. The status, resource, and transformation_type fields can be used for alerting purposes.",
    labels: ["status", "transformation_type", "transformer_prefix"],
  });
  return (type, prefix, error, seconds) => {
    count.with(error === undefined ? "OK" : "Unknown", type, prefix).add();
    if (error === undefined) duration.with(type, prefix).observe(seconds);
  };
}

/** Makes the metrics of KMS providers, by name. */
export function kmsMetrics(metrics: Metrics, clock: Clock): (provider: string) => KmsObserver {
  const prefix = "apiserver_envelope_encryption";
  const calls = metrics.histogram({
    name: `${prefix}_kms_operations_latency_seconds`,
    help: "KMS operation duration with gRPC error code status total.",
    labels: ["grpc_status_code", "method_name", "provider_name"],
    buckets: exponential(0.0001, 2, 20),
  });
  const keyLabels = ["apiserver_id_hash", "key_id_hash", "provider_name", "transformation_type"];
  const keys = metrics.counter({
    name: `${prefix}_key_id_hash_total`,
    help: "Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
    labels: keyLabels,
  });
  const lastUse = metrics.gauge({
    name: `${prefix}_key_id_hash_last_timestamp_seconds`,
    help: "The last time in seconds when a keyID was used.",
    labels: keyLabels,
  });
  const lastStatus = metrics.gauge({
    name: `${prefix}_key_id_hash_status_last_timestamp_seconds`,
    help: "The last time in seconds when a keyID was returned by the Status RPC call.",
    labels: ["apiserver_id_hash", "key_id_hash", "provider_name"],
  });
  const invalid = metrics.counter({
    name: `${prefix}_invalid_key_id_from_status_total`,
    help: "Number of times an invalid keyID is returned by the Status RPC call split by error.",
    labels: ["error", "provider_name"],
  });
  const seeds = metrics.gauge({
    name: `${prefix}_dek_source_cache_size`,
    help: "Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the number of decrypt RPC calls the server will make to the KMS plugin.",
    labels: ["provider_name"],
  });
  const id = identityHash();
  const seconds = (): number => clock.now() / 1000;
  return (provider) => ({
    call: (method, code, ms) => calls.with(code, method, provider).observe(ms / 1000),
    statusKey: (keyId) => lastStatus.with(id, keyId, provider).set(seconds()),
    invalidKeyId: (problem) => invalid.with(problem, provider).add(),
    used(type, keyId) {
      keys.with(id, keyId, provider, type).add();
      lastUse.with(id, keyId, provider, type).set(seconds());
    },
    seeds: (count) => seeds.with(provider).set(count),
  });
}
