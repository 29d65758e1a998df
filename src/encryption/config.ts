/**
 * `EncryptionConfiguration`, the file of `--encryption-provider-config`: which resources are encrypted, and by what.
 * Parsed strictly; errors have field paths. Source: upstream's `apis/apiserver/validation`.
 */
import {
  ConfigError,
  type Decoded,
  durationValue,
  integerValue,
  listOf,
  readDocument,
  refuseWith,
  struct,
  textValue,
} from "#codec/config-document.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, goTexts, GoSyntax, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import type { Key } from "./keyed.ts";

type KeyedKind = "aescbc" | "aesgcm" | "secretbox";

export interface KmsSettings {
  readonly name: string;
  /** The path of the plugin's socket; a path that begins with `@` is an abstract socket. */
  readonly socket: string;
  readonly timeoutMs: number;
}

export type ProviderSettings =
  | { readonly type: "identity" }
  | { readonly type: KeyedKind; readonly keys: readonly Key[] }
  | { readonly type: "kms"; readonly kms: KmsSettings };

/** A list of resources (`secrets`, `*.apps`, `*.`, `*.*`) and their providers. Neither list is empty. */
export interface EncryptionRule {
  readonly resources: readonly string[];
  readonly providers: readonly ProviderSettings[];
}

const keyFields = { name: textValue, secret: textValue };
const keysFields = { keys: listOf(struct(keyFields)) };
const kmsFields = {
  apiVersion: textValue,
  name: textValue,
  cachesize: integerValue,
  endpoint: textValue,
  timeout: durationValue,
};
const providerFields = {
  aesgcm: struct(keysFields),
  aescbc: struct(keysFields),
  secretbox: struct(keysFields),
  identity: struct({}),
  kms: struct(kmsFields),
};
const ruleFields = { resources: listOf(textValue), providers: listOf(struct(providerFields)) };

type Provider = Decoded<typeof providerFields>;

const aesKeyBytes = [16, 24, 32];
const secretboxKeyBytes = [32];
const kmsTimeoutMs = 3000;
const kmsV1 =
  "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.";

const resourcesPath = FieldPath.of("resources");

/** Reads the configuration. Throws `ConfigError` with all errors. */
export function readEncryptionConfig(text: string, domain: ApiDomain): readonly EncryptionRule[] {
  const { resources: rules = [] } = readDocument(text, {
    kind: "EncryptionConfiguration",
    apiVersions: [`${domain.rename("apiserver.config.k8s.io")}/v1`],
    former: { kind: "EncryptionConfig", apiVersion: "v1" },
    fields: { resources: listOf(struct(ruleFields)) },
  });
  const errors: FieldError[] = [];
  if (rules.length === 0) errors.push(required(resourcesPath, "at least one resources is required"));
  const kmsNames = new Set<string>();
  const read = rules.map(({ resources = [], providers = [] }, i): EncryptionRule => {
    const path = resourcesPath.index(i);
    const [namesPath, providersPath] = [path.child("resources"), path.child("providers")];
    if (resources.length === 0) errors.push(required(namesPath, `at least one ${String(namesPath)} is required`));
    errors.push(...overlaps(resources, namesPath), ...badNames(resources, namesPath));
    if (providers.length === 0)
      errors.push(required(providersPath, `at least one ${String(providersPath)} is required`));
    const settings = providers.flatMap((provider, j) =>
      readProvider(provider, providersPath.index(j), kmsNames, errors),
    );
    return { resources, providers: settings };
  });
  refuseWith(errors);
  checkOrder(read.flatMap(({ resources }) => resources));
  return read;
}

/** Throws for a wildcard before a resource that it covers, since the resource's own rule would have no effect. */
function checkOrder(resources: readonly string[]): void {
  for (const [at, resource] of resources.entries()) {
    const by = resources.slice(0, at).find((earlier) => earlier.startsWith("*.") && covers(earlier, resource));
    if (by !== undefined) {
      throw new ConfigError(
        `error while building transformers: resource ${JSON.stringify(resource)} is masked by earlier rule ${JSON.stringify(by)}`,
      );
    }
  }
}

/** Whether `rule` covers all resources that `resource` covers. */
function covers(rule: string, resource: string): boolean {
  if (rule === resource || rule === "*.*") return true;
  const isWildcard = rule === "*" || rule.startsWith("*.");
  return isWildcard && resource !== "*.*" && groupOf(resource) === groupOf(rule);
}

/** Returns the group: `apps` for `deployments.apps` and `*.apps`, empty for the core group. */
function groupOf(resource: string): string {
  const dot = resource.indexOf(".");
  return dot < 0 ? "" : resource.slice(dot + 1);
}

/** Returns the errors of a list that names a resource twice, or beside a wildcard that covers it. */
function overlaps(resources: readonly string[], path: FieldPath): FieldError[] {
  const shown = goTexts(resources);
  if (new Set(resources).size !== resources.length) {
    return [invalid(path, shown, "the same resource cannot be specified multiple times")];
  }
  const hasOthers = (rule: string): boolean => resources.some((one) => one !== rule && covers(rule, one));
  return resources.some(hasOthers)
    ? [
        invalid(
          path,
          shown,
          "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
        ),
      ]
    : [];
}

const noRest = ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"];

function badNames(resources: readonly string[], path: FieldPath): FieldError[] {
  return resources.flatMap((resource, i) => {
    const problem = nameProblem(resource);
    return problem === undefined ? [] : [invalid(path.index(i), resource, problem)];
  });
}

function nameProblem(resource: string): string | undefined {
  if (/[A-Z]/.test(resource)) return "resource name should not contain capital letters";
  if (noRest.includes(resource)) return "resources which do not have REST API/s cannot be encrypted";
  if (resource === "*")
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  const group = groupOf(resource);
  if (group === "*" && resource !== "*.*") return "encrypting the same resource across groups is not supported";
  if (group === "events.k8s.io") {
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  }
  if (group === "extensions") return "'extensions' group has been removed and cannot be used for encryption";
  return undefined;
}

function readProvider(
  provider: Provider,
  path: FieldPath,
  kmsNames: Set<string>,
  errors: FieldError[],
): readonly ProviderSettings[] {
  const kinds = Object.keys(provider);
  if (kinds.length !== 1) {
    const detail =
      kinds.length === 0
        ? "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
        : "more than one provider specified in a single element, should split into different list elements";
    errors.push(invalid(path, kinds.join(", "), detail));
    return [];
  }
  const { aesgcm, aescbc, secretbox, kms } = provider;
  if (kms !== undefined) return [{ type: "kms", kms: readKms(kms, path.child("kms"), kmsNames, errors) }];
  if (aesgcm !== undefined) return [keyedProvider("aesgcm", aesgcm.keys, path, aesKeyBytes, errors)];
  if (aescbc !== undefined) return [keyedProvider("aescbc", aescbc.keys, path, aesKeyBytes, errors)];
  if (secretbox !== undefined) return [keyedProvider("secretbox", secretbox.keys, path, secretboxKeyBytes, errors)];
  return [{ type: "identity" }];
}

function keyedProvider(
  type: KeyedKind,
  keys: readonly Decoded<typeof keyFields>[] = [],
  path: FieldPath,
  lengths: readonly number[],
  errors: FieldError[],
): ProviderSettings {
  const at = path.child(type, "keys");
  if (keys.length === 0) errors.push(required(at, "at least one keys is required"));
  return {
    type,
    keys: keys.map(({ name = "", secret = "" }, i) => {
      const of = at.index(i);
      if (name === "") errors.push(required(of.child("name"), "name is a mandatory field for a key"));
      return { name, secret: readSecret(secret, of.child("secret"), lengths, errors) };
    }),
  };
}

function readSecret(secret: string, path: FieldPath, lengths: readonly number[], errors: FieldError[]): Buffer {
  if (secret === "") {
    errors.push(required(path, "secret is a mandatory field for a key"));
    return Buffer.alloc(0);
  }
  const bytes = Buffer.from(secret, "base64");
  if (bytes.toString("base64") !== secret.replace(/[\r\n]/g, "")) {
    errors.push(invalid(path, "REDACTED", "secrets must be base64 encoded"));
  } else if (!lengths.includes(bytes.length)) {
    const expected = `[${lengths.join(" ")}]`;
    errors.push(
      invalid(
        path,
        "REDACTED",
        `secret is not of the expected length, got ${bytes.length}, expected one of ${expected}`,
      ),
    );
  }
  return bytes;
}

function readKms(
  { apiVersion = "v1", name = "", cachesize, endpoint = "", timeout }: Decoded<typeof kmsFields>,
  path: FieldPath,
  names: Set<string>,
  errors: FieldError[],
): KmsSettings {
  if (name === "") errors.push(required(path.child("name"), "name is a mandatory field for a provider"));
  else if (apiVersion !== "v1" && name.includes(":")) {
    errors.push(invalid(path.child("name"), name, `invalid KMS provider name ${name}, must not contain ':'`));
  } else if (names.has(name)) {
    errors.push(invalid(path.child("name"), name, `duplicate KMS provider name ${name}, names must be unique`));
  }
  names.add(name);
  const timeoutMs = timeout === undefined ? kmsTimeoutMs : (parseGoDuration(timeout) ?? 0);
  if (timeoutMs <= 0) {
    const shown = new GoSyntax(`v1.Duration{Duration:${Math.round(timeoutMs * 1e6)}}`);
    errors.push(invalid(path.child("timeout"), shown, "timeout should be a positive value"));
  }
  const socket = socketOf(endpoint, path.child("endpoint"), errors);
  if (apiVersion === "v1") errors.push(invalid(path.child("apiVersion"), apiVersion, kmsV1));
  else if (apiVersion !== "v2") {
    const detail = `unsupported apiVersion ${apiVersion} for KMS provider, only v1 and v2 are supported`;
    errors.push(invalid(path.child("apiVersion"), apiVersion, detail));
  } else if (cachesize !== undefined) {
    errors.push(invalid(path.child("cachesize"), cachesize, "cachesize is not supported in v2"));
  }
  return { name, socket, timeoutMs };
}

function socketOf(endpoint: string, path: FieldPath, errors: FieldError[]): string {
  if (endpoint === "") {
    errors.push(invalid(path, endpoint, "endpoint is a mandatory field for a kms"));
    return "";
  }
  const [, scheme = "", rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(endpoint) ?? [];
  if (scheme !== "unix") {
    const detail = `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`;
    errors.push(invalid(path, endpoint, detail));
  }
  // The forms are `unix:///run/kms.sock`, and `unix:///@name` for an abstract socket.
  const socket = rest.replace(/^\/\//, "");
  return socket.startsWith("/@") ? socket.slice(1) : socket;
}
