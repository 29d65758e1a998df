/**
 * Settings of authorization, read from flags and files before anything is opened or written. An invalid configuration
 * ends the start here. Source: upstream's `kubeapiserver/options/authorization.go`.
 */
import { webhookTimeoutMaxMs } from "#authz/authorizer.ts";
import type { Policy } from "#authz/abac.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { AuthorizationRules, AuthorizerEntry } from "#authz/configuration.ts";
import { orStartError, readGiven } from "../given-files.ts";
import { authorizationFlags, type AuthorizationMode, type AuthorizationFlags } from "./flags.ts";
import { StartError } from "#std/start-error.ts";

/** One authorizer of the chain; an authorizer without settings is its mode. */
export type PlannedAuthorizer =
  | AuthorizerEntry
  | { readonly type: Exclude<AuthorizationMode, "Webhook" | "ABAC">; readonly name: string }
  | { readonly type: "ABAC"; readonly name: string; readonly policies: readonly Policy[] };

export interface AuthorizationPlan {
  readonly authorizers: readonly PlannedAuthorizer[];
  /** The file of `--authorization-config`: name, content, and rules for reloads. */
  readonly file: { readonly name: string; readonly text: string; readonly rules: AuthorizationRules } | undefined;
}

/** Rejects with `StartError`. Loads the readers of files only when there are files. */
export async function planAuthorization(
  options: AuthorizationFlags,
  domain: ApiDomain,
  gates: Pick<FeatureGates, "isOn">,
): Promise<AuthorizationPlan> {
  const name = options.authorizationConfig;
  if (name === undefined) return { authorizers: await ofFlags(options, domain), file: undefined };
  if (isAnyOtherSet(options)) {
    throw new StartError(
      "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
    );
  }
  const text = readGiven(name);
  const { readAuthorizationConfig } = await import("#authz/configuration.ts");
  const { conditionCompiler } = await import("./conditions.ts");
  const rules: AuthorizationRules = { domain, compile: conditionCompiler(gates.isOn("AuthorizeWithSelectors")) };
  const authorizers = orStartError(`${name}: `, () => readAuthorizationConfig(text, rules));
  return { authorizers, file: { name, text, rules } };
}

/** Whether another option is set. A list that was given counts even when it equals the default. */
const isAnyOtherSet = (options: AuthorizationFlags): boolean =>
  (Object.keys(authorizationFlags) as (keyof typeof authorizationFlags)[]) // it has no other keys
    .filter((key) => key !== "authorizationConfig")
    .some((key) => options[key] !== authorizationFlags[key].default);

async function ofFlags(options: AuthorizationFlags, domain: ApiDomain): Promise<readonly PlannedAuthorizer[]> {
  const modes = options.authorizationMode;
  const { authorizationPolicyFile: policyFile, authorizationWebhookConfigFile: webhookFile } = options;
  if (modes.length === 0) throw new StartError("at least one authorization-mode must be passed");
  if (new Set(modes).size !== modes.length) {
    throw new StartError(`authorization-mode [${modes.map(goQuote).join(" ")}] has mode specified more than once`);
  }
  if (policyFile !== undefined && !modes.includes("ABAC")) {
    throw new StartError("cannot specify --authorization-policy-file without mode ABAC");
  }
  if (webhookFile !== undefined && !modes.includes("Webhook")) {
    throw new StartError("cannot specify --authorization-webhook-config-file without mode Webhook");
  }
  const planned = async (modeText: string): Promise<PlannedAuthorizer> => {
    const mode = modeText as AuthorizationMode; // checked by the flag
    const name = mode.toLowerCase();
    if (mode === "ABAC") {
      if (policyFile === undefined)
        throw new StartError("authorization-mode ABAC's authorization policy file not passed");
      const text = readGiven(policyFile);
      const { readPolicies } = await import("#authz/abac.ts");
      return { type: mode, name, policies: orStartError(`${policyFile}: `, () => readPolicies(text, domain)) };
    }
    if (mode !== "Webhook") return { type: mode, name };
    if (webhookFile === undefined) {
      throw new StartError("authorization-mode Webhook's authorization config file not passed");
    }
    const { readWebhookConnection } = await import("#egress/webhook-connection.ts");
    return {
      type: mode,
      name: "default",
      webhook: {
        connection: orStartError("", () => readWebhookConnection(webhookFile)),
        version: options.authorizationWebhookVersion,
        authorizedTtlMs: options.authorizationWebhookCacheAuthorizedTtlMs,
        unauthorizedTtlMs: options.authorizationWebhookCacheUnauthorizedTtlMs,
        timeoutMs: webhookTimeoutMaxMs,
        failurePolicy: "NoOpinion",
        conditions: [],
      },
    };
  };
  return Promise.all(modes.map(planned));
}
