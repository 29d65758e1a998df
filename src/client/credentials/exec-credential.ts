/** The `ExecCredential` that a plugin prints. Source: upstream's `client.authentication.k8s.io`. */
import { isObject } from "#std/is-object.ts";
import { timeToMs } from "#meta/time.ts";
import { parseYaml } from "../parse-yaml.ts";
import type { ExecConfig } from "./exec-config.ts";
import { type CertificateWithKey, parseCertificate, parseToken } from "./parts.ts";

interface PluginAnswer {
  readonly token?: string;
  readonly certificate?: CertificateWithKey;
  /** The end of the credential in milliseconds since the epoch; infinite if the plugin names none. */
  readonly endMs: number;
}

/** Decodes the output of a plugin. Rejects with an `Error` whose message quotes no credential. */
export async function decodeExecCredential(text: string, { apiVersion }: ExecConfig): Promise<PluginAnswer> {
  const value = await parseOutput(text);
  const { kind = "ExecCredential", apiVersion: printed, status } = value;
  if (kind !== "ExecCredential") throw new Error("it printed something else than an ExecCredential");
  if (printed !== apiVersion) {
    const shown = typeof printed === "string" ? `in ${printed.slice(0, 100)}` : "without a version";
    throw new Error(`it is configured for ${apiVersion}, and printed a credential ${shown}`);
  }
  if (!isObject(status)) throw new Error("it printed no status, where the credential should be");
  const textOf = (field: string): string => {
    const part = status[field] ?? "";
    if (typeof part !== "string") throw new Error(`it printed a status.${field} that is not text`);
    return part;
  };
  const token = textOf("token");
  const cert = textOf("clientCertificateData");
  const key = textOf("clientKeyData");
  if ((cert === "") !== (key === "")) {
    throw new Error("clientCertificateData and clientKeyData must come together, and it printed one of them");
  }
  if (token === "" && cert === "") throw new Error("it printed neither a token nor a certificate with its key");
  const end = textOf("expirationTimestamp");
  const endMs = end === "" ? Infinity : timeToMs(end);
  if (endMs === undefined) {
    throw new Error("status.expirationTimestamp must be a time of RFC 3339, such as 2026-01-31T12:00:00Z");
  }
  return {
    ...(token === "" ? {} : { token: parseToken(token) }),
    ...(cert === "" ? {} : { certificate: parseCertificate(cert, key) }),
    endMs,
  };
}

/** Parses JSON, or YAML, which upstream's clients accept too. */
async function parseOutput(text: string): Promise<Readonly<Record<string, unknown>>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = await parseYaml(text).catch(() => undefined);
  }
  if (!isObject(value)) throw new Error("it printed something else than an ExecCredential");
  return value;
}
