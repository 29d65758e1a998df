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
    help: "Time that encrypting or decrypting a value takes.",
    labels: ["transformation_type", "transformer_prefix"],
    buckets: exponential(5e-6, 2, 25),
  });
  const count = metrics.counter({
    name: "apiserver_storage_transformation_operations_total",
    help: "Values that were encrypted or decrypted, by resource and by status, which is OK for a success.",
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
    help: "Time of calls of a KMS plugin, by method and by gRPC code.",
    labels: ["grpc_status_code", "method_name", "provider_name"],
    buckets: exponential(0.0001, 2, 20),
  });
  const keyLabels = ["apiserver_id_hash", "key_id_hash", "provider_name", "transformation_type"];
  const keys = metrics.counter({
    name: `${prefix}_key_id_hash_total`,
    help: "Uses of a KMS key, by direction, by provider and by server.",
    labels: keyLabels,
  });
  const lastUse = metrics.gauge({
    name: `${prefix}_key_id_hash_last_timestamp_seconds`,
    help: "Time at which a KMS key was last used, in seconds since 1970.",
    labels: keyLabels,
  });
  const lastStatus = metrics.gauge({
    name: `${prefix}_key_id_hash_status_last_timestamp_seconds`,
    help: "Time at which the status of a KMS plugin last named a key, in seconds since 1970.",
    labels: ["apiserver_id_hash", "key_id_hash", "provider_name"],
  });
  const invalid = metrics.counter({
    name: `${prefix}_invalid_key_id_from_status_total`,
    help: "Invalid key ids in the status of a KMS plugin, by error.",
    labels: ["error", "provider_name"],
  });
  const seeds = metrics.gauge({
    name: `${prefix}_dek_source_cache_size`,
    help: "Keys of values that are kept decrypted; a start asks the KMS plugin about as often.",
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
