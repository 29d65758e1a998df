/**
 * Flags and gates that need other gates. A server with a combination that kube-apiserver refuses does not start.
 * Source of rules and messages: the answers of kube-apiserver.
 */
import type { FeatureGates } from "#api/feature-gates.ts";
import { StartError } from "#std/start-error.ts";
import { type ServerOptions, serverFlags } from "./options.ts";

interface GateRule {
  /** Whether the options and gates use what the rule is about. */
  isUsed(options: ServerOptions, isOn: (gate: string) => boolean): boolean;
  /** The gate that must be on. */
  readonly needs: string;
  readonly message: string;
}

/** Returns the rules of a format's flags, whose values `read` returns. */
function alphaLogs(
  format: string,
  read: (options: ServerOptions) => readonly [split: boolean, bufferSize: string | undefined],
): readonly GateRule[] {
  const rule = (field: string, isUsed: GateRule["isUsed"]): GateRule => ({
    isUsed,
    needs: "LoggingAlphaOptions",
    message: `options.${format}.${field}: Forbidden: Feature LoggingAlphaOptions is disabled`,
  });
  return [
    rule("splitStream", (options) => read(options)[0]),
    rule("infoBufferSize", (options) => ![undefined, "0"].includes(read(options)[1])),
  ];
}

const rules: readonly GateRule[] = [
  {
    isUsed: ({ loggingFormat }) => loggingFormat === "json",
    needs: "LoggingBetaOptions",
    message: "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
  },
  ...alphaLogs("json", ({ logJsonSplitStream: split, logJsonInfoBufferSize: size }) => [split, size]),
  ...alphaLogs("text", ({ logTextSplitStream: split, logTextInfoBufferSize: size }) => [split, size]),
  ...(["peerCaFile", "peerAdvertiseIp", "peerAdvertisePort"] as const).map((key): GateRule => {
    return {
      isUsed: (options) => options[key] !== undefined,
      needs: "UnknownVersionInteroperabilityProxy",
      message: `--${serverFlags[key].name} requires UnknownVersionInteroperabilityProxy feature to be turned on`,
    };
  }),
  {
    isUsed: ({ authenticationConfig }) => authenticationConfig !== undefined,
    needs: "StructuredAuthenticationConfiguration",
    message: "set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file",
  },
  {
    isUsed: ({ tracingConfigFile }) => tracingConfigFile !== undefined,
    needs: "APIServerTracing",
    message: "APIServerTracing feature is not enabled, but tracing config file was provided",
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
