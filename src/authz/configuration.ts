/**
 * `AuthorizationConfiguration`, the file of `--authorization-config`: the authorizers in order, with the settings of
 * webhooks. Parsed strictly; errors have field paths. Only Webhook, Node and RBAC are allowed. Source: upstream's
 * `apis/apiserver/validation`.
 */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { webhookTimeoutMaxMs } from "./authorizer.ts";
import type { FailurePolicy, MatchCondition } from "./webhook.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  internalError,
  invalid,
  notSupported,
  required,
  tooMany,
} from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import {
  ConfigError,
  type Decoded,
  durationValue,
  listOf,
  readDocument,
  refuseWith,
  struct,
  textValue,
} from "#codec/config-document.ts";
import { readWebhookConnection, type WebhookConnection } from "#egress/webhook-connection.ts";

interface WebhookSettings {
  readonly connection: WebhookConnection;
  readonly version: "v1" | "v1beta1";
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly timeoutMs: number;
  readonly failurePolicy: FailurePolicy;
  readonly conditions: readonly MatchCondition[];
}

export type AuthorizerEntry =
  | { readonly type: "Node" | "RBAC"; readonly name: string }
  | { readonly type: "Webhook"; readonly name: string; readonly webhook: WebhookSettings };

/**
 * Compiles a match condition, and returns its problem if it has one. `isInternal`: upstream calls the problem an
 * internal error.
 */
export type ConditionCompiler = (
  expression: string,
) => MatchCondition | { readonly problem: string; readonly isInternal: boolean };

export interface AuthorizationRules {
  readonly domain: ApiDomain;
  readonly compile: ConditionCompiler;
}

const webhookFields = {
  authorizedTTL: durationValue,
  unauthorizedTTL: durationValue,
  timeout: durationValue,
  subjectAccessReviewVersion: textValue,
  matchConditionSubjectAccessReviewVersion: textValue,
  failurePolicy: textValue,
  connectionInfo: struct({ type: textValue, kubeConfigFile: textValue }),
  matchConditions: listOf(struct({ expression: textValue })),
};
const authorizerFields = { type: textValue, name: textValue, webhook: struct(webhookFields) };

type WebhookConfig = Decoded<typeof webhookFields>;

const types = ["Node", "RBAC", "Webhook"] as const;
const authorizedTtlMs = 5 * 60_000;
const unauthorizedTtlMs = 30_000;
const conditionsMax = 64;

const authorizersPath = FieldPath.of("authorizers");

/** Reads the file. Throws `ConfigError` with all errors. */
export function readAuthorizationConfig(text: string, rules: AuthorizationRules): readonly AuthorizerEntry[] {
  const group = rules.domain.rename("apiserver.config.k8s.io");
  const { authorizers = [] } = readDocument(text, {
    kind: "AuthorizationConfiguration",
    apiVersions: ["v1", "v1beta1", "v1alpha1"].map((version) => `${group}/${version}`),
    fields: { authorizers: listOf(struct(authorizerFields)) },
  });
  const errors: FieldError[] = [];
  if (authorizers.length === 0) {
    errors.push(required(authorizersPath, "at least one authorization mode must be defined"));
  }
  const seen = { types: new Set<string>(), names: new Set<string>() };
  const entries = authorizers.flatMap((authorizer, at) => {
    return checkAuthorizer(authorizer, authorizersPath.index(at), rules, seen, errors) ?? [];
  });
  refuseWith(errors);
  return entries;
}

function checkAuthorizer(
  { type = "", name: configuredName = "", webhook }: Decoded<typeof authorizerFields>,
  path: FieldPath,
  rules: AuthorizationRules,
  seen: { readonly types: Set<string>; readonly names: Set<string> },
  errors: FieldError[],
): AuthorizerEntry | undefined {
  const knownType = types.find((candidate) => candidate === type);
  if (knownType === undefined) {
    errors.push(type === "" ? required(path.child("type")) : notSupported(path.child("type"), type, types));
    return undefined;
  }
  if (knownType !== "Webhook" && seen.types.has(knownType)) {
    errors.push(duplicate(path.child("type"), type));
    return undefined;
  }
  seen.types.add(knownType);
  const name = configuredName === "" && knownType !== "Webhook" ? knownType.toLowerCase() : configuredName;
  checkName(name, path.child("name"), seen.names, errors);
  if (knownType !== "Webhook") {
    if (webhook !== undefined) {
      errors.push(invalid(path.child("webhook"), "non-null", "may only be specified when type=Webhook"));
    }
    return { type: knownType, name };
  }
  if (webhook === undefined) {
    errors.push(required(path.child("webhook"), "required when type=Webhook"));
    return undefined;
  }
  // Upstream names the settings of webhooks as if they were the authorizer's own.
  const settings = checkWebhook(webhook, path, rules, errors);
  return settings === undefined ? undefined : { type: knownType, name, webhook: settings };
}

function checkName(name: string, path: FieldPath, seen: Set<string>, errors: FieldError[]): void {
  const problems = dns1123Subdomain(name);
  if (name === "") errors.push(required(path));
  else if (seen.has(name)) errors.push(duplicate(path, name));
  else if (problems.length > 0) {
    errors.push(invalid(path, name, `authorizer name is invalid: ${problems.join(", ")}`));
  }
  seen.add(name);
}

/** Reads the settings of a webhook; `undefined` when errors were added to `errors`. */
function checkWebhook(
  config: WebhookConfig,
  path: FieldPath,
  { compile }: AuthorizationRules,
  errors: FieldError[],
): WebhookSettings | undefined {
  const before = errors.length;
  const timeoutMs = checkTimeout(config.timeout, path.child("timeout"), errors);
  const version = oneOf(
    ["v1", "v1beta1"],
    config.subjectAccessReviewVersion,
    path.child("subjectAccessReviewVersion"),
    errors,
  );
  oneOf(
    ["v1"],
    config.matchConditionSubjectAccessReviewVersion,
    path.child("matchConditionSubjectAccessReviewVersion"),
    errors,
    (config.matchConditions ?? []).length === 0 ? "" : "required if match conditions are specified",
  );
  const failurePolicy = oneOf(["NoOpinion", "Deny"], config.failurePolicy, path.child("failurePolicy"), errors);
  const connection = checkConnection(config.connectionInfo, path.child("connectionInfo"), errors);
  const conditions = checkConditions(config.matchConditions ?? [], path.child("matchConditions"), compile, errors);
  const ttl = (text: string | undefined, initialMs: number, name: string): number => {
    const ms = milliseconds(text);
    if (ms < 0) errors.push(invalid(path.child(name), text, "must be > 0s"));
    return ms === 0 ? initialMs : ms;
  };
  const settings = {
    authorizedTtlMs: ttl(config.authorizedTTL, authorizedTtlMs, "authorizedTTL"),
    unauthorizedTtlMs: ttl(config.unauthorizedTTL, unauthorizedTtlMs, "unauthorizedTTL"),
  };
  if (connection === undefined || version === undefined || failurePolicy === undefined || errors.length > before) {
    return undefined;
  }
  return { ...settings, connection, version, failurePolicy, timeoutMs, conditions };
}

/**
 * Returns the milliseconds of a duration; 0 when there is none. The document was decoded, so the text is a duration.
 */
const milliseconds = (text: string | undefined): number => parseGoDuration(text ?? "0") ?? 0;

function checkTimeout(text: string | undefined, path: FieldPath, errors: FieldError[]): number {
  const ms = milliseconds(text);
  if (ms === 0) errors.push(required(path));
  else if (ms < 0 || ms > webhookTimeoutMaxMs) errors.push(invalid(path, text, "must be > 0s and <= 30s"));
  return ms;
}

function oneOf<T extends string>(
  values: readonly T[],
  text = "",
  path: FieldPath,
  errors: FieldError[],
  reason = "",
): T | undefined {
  const match = values.find((value) => value === text);
  if (match === undefined) errors.push(text === "" ? required(path, reason) : notSupported(path, text, values));
  return match;
}

function checkConnection(
  { type, kubeConfigFile = "" }: NonNullable<WebhookConfig["connectionInfo"]> = {},
  path: FieldPath,
  errors: FieldError[],
): WebhookConnection | undefined {
  const at = path.child("kubeConfigFile");
  const sourceType = oneOf(["InClusterConfig", "KubeConfigFile"], type, path.child("type"), errors);
  if (sourceType === undefined) return undefined;
  if (sourceType === "InClusterConfig") {
    if (kubeConfigFile !== "") {
      errors.push(invalid(at, kubeConfigFile, "can only be set when type=KubeConfigFile"));
    }
    errors.push(forbidden(path.child("type"), "InClusterConfig is not allowed in the configuration of this server"));
    return undefined;
  }
  const problem = kubeConfigFile === "" ? "" : fileProblem(kubeConfigFile);
  if (kubeConfigFile === "") errors.push(required(at));
  else if (problem !== "") errors.push(invalid(at, kubeConfigFile, problem));
  else {
    try {
      return readWebhookConnection(kubeConfigFile);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      errors.push(invalid(at, kubeConfigFile, error.message));
    }
  }
  return undefined;
}

function fileProblem(file: string): string {
  if (!isAbsolute(file)) return "must be an absolute path";
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return `error loading file: stat ${file}: no such file or directory`;
  return stats.isFile() ? "" : "must be a regular file";
}

function checkConditions(
  conditions: NonNullable<WebhookConfig["matchConditions"]>,
  path: FieldPath,
  compile: ConditionCompiler,
  errors: FieldError[],
): readonly MatchCondition[] {
  if (conditions.length > conditionsMax) {
    errors.push(tooMany(path, conditions.length, conditionsMax));
    return [];
  }
  const seen = new Set<string>();
  return conditions.flatMap(({ expression = "" }, i) => {
    const at = path.index(i).child("expression");
    if (expression.trim() === "") {
      errors.push(required(at));
      return [];
    }
    if (seen.has(expression)) {
      errors.push(duplicate(at, expression));
      return [];
    }
    seen.add(expression);
    const condition = compile(expression);
    if (typeof condition === "function") return [condition];
    const { problem, isInternal } = condition;
    errors.push(isInternal ? internalError(at, problem) : invalid(at, expression, problem));
    return [];
  });
}
