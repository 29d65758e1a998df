/** `binnacle token create [ACCOUNT]`: requests a service account token from a running server. */
import { binnacleFlag, duration, list, optional, type Settings, text, withShort } from "#std/flags.ts";
import { connectionFlags, findServer, withServer } from "#server/running-server.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { pathPart } from "./discovery.ts";
import { jsonBody } from "#client/rest-client.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";

const flags = {
  ...connectionFlags,
  namespace: withShort(text(binnacleFlag("namespace"), "default", "name", "Where the account is."), "n"),
  duration: duration(binnacleFlag("duration"), 0, "How long the token holds, at least 10m; 0 leaves it to the server."),
  audience: list(binnacleFlag("audience"), "name", "For whom the token is; default: this server. May be repeated."),
  boundObjectKind: optional(
    binnacleFlag("bound-object-kind"),
    "kind",
    "Pod, Secret or Node: the token dies with that object.",
  ),
  boundObjectName: optional(binnacleFlag("bound-object-name"), "name", "Name of that object."),
  boundObjectUid: optional(binnacleFlag("bound-object-uid"), "uid", "Uid of that object; default: the present one's."),
  output: formFlag(["text", "json"], "The token alone, or the whole answer."),
};

const help = `Asks a running server for a token of a service account.

Usage: binnacle token create [ACCOUNT] [flags]

  ACCOUNT                         name of the service account, "default" unless given
  -h, --help                      print this

Examples:
  binnacle token create robot -n shop --duration=20m
  binnacle token create robot --audience=https://example.com

`;

/** Runs `binnacle token create`: prints a new token. Rejects with `StartError`. */
export const token = command(flags, help, async (settings, rest) => {
  const [verb, account = "default", ...more] = rest;
  if (verb !== "create" || more.length > 0) {
    throw new StartError("token makes one token: binnacle token create [ACCOUNT]");
  }
  const { namespace = "default", duration: durationMs = 0, audience = [], output } = settings;
  const bound = boundObject(settings);
  const server = await findServer(settings);
  const answer = await requestToken(server, { namespace, account, durationMs, audiences: audience, bound });
  process.stdout.write(output === "json" ? `${JSON.stringify(answer, null, 2)}\n` : `${answer.status.token}\n`);
});

export interface TokenWanted {
  readonly namespace: string;
  readonly account: string;
  /** The lifetime; 0 if the server decides. */
  readonly durationMs: number;
  readonly audiences?: readonly string[];
  readonly bound?: BoundObject | undefined;
}

export interface BoundObject {
  readonly apiVersion: "v1";
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
}

export interface TokenAnswer {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/** Creates a token. Rejects with `StartError`. */
export function requestToken(server: ConnectionSettings, wanted: TokenWanted): Promise<TokenAnswer> {
  const { namespace, account, durationMs, audiences = [], bound } = wanted;
  // The path implies kind and version, whose names depend on the server's domain.
  const path = `/api/v1/namespaces/${pathPart(namespace)}/serviceaccounts/${pathPart(account)}/token`;
  const spec = {
    ...(audiences.length === 0 ? {} : { audiences }),
    ...(durationMs === 0 ? {} : { expirationSeconds: Math.floor(durationMs / 1000) }),
    ...(bound === undefined ? {} : { boundObjectRef: bound }),
  };
  return withServer(server, ({ rest }) => rest.call({ method: "POST", path, ...jsonBody({ spec }) }));
}

function boundObject(settings: Settings<typeof flags>): BoundObject | undefined {
  const { boundObjectKind: kind, boundObjectName: name, boundObjectUid: uid } = settings;
  if (kind === undefined) {
    if (name === undefined && uid === undefined) return undefined;
    throw new StartError("--bound-object-name and --bound-object-uid need --bound-object-kind");
  }
  if (!["Pod", "Secret", "Node"].includes(kind)) {
    throw new StartError(`invalid value ${JSON.stringify(kind)} for --bound-object-kind: must be Pod, Secret or Node`);
  }
  if (name === undefined) throw new StartError("--bound-object-kind needs --bound-object-name");
  return { apiVersion: "v1", kind, name, ...(uid === undefined ? {} : { uid }) };
}
