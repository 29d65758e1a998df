/**
 * Flags and gates that need other gates. A server with a combination that kube-apiserver refuses does not start.
 * Source of rules and messages: the answers of kube-apiserver.
 */
import type { FeatureGates } from "#api/feature-gates.ts";
import { StartError } from "#std/start-error.ts";
import type { ServerOptions } from "./options.ts";

interface GateRule {
  /** Whether the options and gates use what the rule is about. */
  isUsed(options: ServerOptions, isOn: (gate: string) => boolean): boolean;
  /** The gate that must be on. */
  readonly needs: string;
  readonly message: string;
}

const rules: readonly GateRule[] = [
  {
    isUsed: ({ loggingFormat }) => loggingFormat === "json",
    needs: "LoggingBetaOptions",
    message: "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
  },
  {
    isUsed: ({ authenticationConfig }) => authenticationConfig !== undefined,
    needs: "StructuredAuthenticationConfiguration",
    message: "set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file",
  },
  {
    isUsed: ({ requestheaderUidHeaders }) => requestheaderUidHeaders.length > 0,
    needs: "RemoteRequestHeaderUID",
    message: '--requestheader-uid-headers requires the "RemoteRequestHeaderUID" feature to be enabled',
  },
  {
    isUsed: (_, isOn) => isOn("AuthorizeNodeWithSelectors"),
    needs: "AuthorizeWithSelectors",
    message: "AuthorizeNodeWithSelectors feature requires AuthorizeWithSelectors feature to be enabled",
  },
  {
    isUsed: (_, isOn) => isOn("UnknownVersionInteroperabilityProxy"),
    needs: "StorageVersionAPI",
    message: "UnknownVersionInteroperabilityProxy feature requires StorageVersionAPI feature flag to be enabled",
  },
];

/** Throws `StartError` for the first flag or gate whose gate is off. */
export function checkGatedFlags(options: ServerOptions, { isOn }: Pick<FeatureGates, "isOn">): void {
  for (const { isUsed, needs, message } of rules) {
    if (!isOn(needs) && isUsed(options, isOn)) throw new StartError(message);
  }
}
