/**
 * `binnacle kubeconfig`: writes a kubeconfig for another user. Users get a client certificate from the data folder's
 * authority, without a running server; service accounts get a token from a running server.
 */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { encodeYaml } from "#codec/yaml.ts";
import { systemClock } from "#std/clock.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { systemRandom } from "#std/random.ts";
import { reasonOf } from "#std/system-error.ts";
import { issueClientCertificate } from "#server/credentials.ts";
import { binnacleFlag, list, optional, refuseArguments, type Settings } from "#std/flags.ts";
import { clientConfig, type ClientCredentials } from "#server/kubeconfig.ts";
import { connectionFlags, findServer, urlOf } from "#server/running-server.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { requestToken } from "./token.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";

const flags = {
  ...connectionFlags,
  user: optional(binnacleFlag("user"), "name", "For a person or program of this name, by a client certificate."),
  group: list(binnacleFlag("group"), "name", "A group of that user. May be repeated."),
  serviceaccount: optional(
    binnacleFlag("serviceaccount"),
    "ns/name",
    "For a service account, by a token of the running server.",
  ),
  duration: optional(
    binnacleFlag("duration"),
    "duration",
    "How long the credentials hold, such as 12h; default: a year for certificates, for tokens what the server gives.",
  ),
  out: optional(binnacleFlag("out"), "file", "Write it into this new file, readable by you only, and not to stdout."),
  output: formFlag(["yaml", "json"], "Form of the kubeconfig."),
};

const help = `Makes a kubeconfig for a user or for a service account.

Usage: binnacle kubeconfig --user NAME [--group NAME]... [flags]
       binnacle kubeconfig --serviceaccount NAMESPACE/NAME [flags]

  -h, --help                      print this

What they may do is another matter: grant it with roles and bindings. A certificate cannot be taken back before it ends.

Examples:
  binnacle kubeconfig --user=alice --group=dev --out=alice.kubeconfig
  binnacle kubeconfig --serviceaccount=shop/robot --duration=12h

`;

const yearMs = 365 * 86_400_000;

/** Runs `binnacle kubeconfig`: prints or writes a kubeconfig. Rejects with `StartError`. */
export const kubeconfig = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "kubeconfig takes flags only");
  const { name, namespace, credentials, until, server } = await make(settings);
  const config = clientConfig({
    url: urlOf(server),
    ca: await server.tls.ca?.(),
    serverName: server.tls.serverName,
    insecure: server.tls.insecure,
    proxy: server.proxy,
    user: name,
    namespace,
    credentials,
  });
  const text = settings.output === "json" ? `${JSON.stringify(config, null, 2)}\n` : encodeYaml(config).toString();
  if (settings.out === undefined) process.stdout.write(text);
  else {
    write(resolve(settings.out), text);
    process.stdout.write(`kubeconfig of ${name} written to ${settings.out}, good until ${until}\n`);
  }
});

interface NewIdentity {
  readonly name: string;
  readonly namespace?: string;
  readonly credentials: ClientCredentials;
  /** The time at which the credentials expire, in ISO 8601. */
  readonly until: string;
  readonly server: ConnectionSettings;
}

function make(settings: Settings<typeof flags>): Promise<NewIdentity> {
  const { user, group = [], serviceaccount } = settings;
  if ((user === undefined) === (serviceaccount === undefined)) {
    const isNobody = user === undefined && group.length > 0;
    throw new StartError(
      isNobody
        ? "--group says nothing about a name: add --user NAME"
        : "say for whom: --user NAME or --serviceaccount NAMESPACE/NAME, one of them",
    );
  }
  if (user !== undefined) return forUser(user, group, settings);
  if (group.length > 0) throw new StartError("--group goes with --user: groups of a service account are given");
  return forAccount(serviceaccount!, settings);
}

async function forUser(
  name: string,
  groups: readonly string[],
  settings: Settings<typeof flags>,
): Promise<NewIdentity> {
  if (settings.kubeconfig !== undefined) {
    throw new StartError("--user takes the authority of a data folder: name it with --data-dir, not --kubeconfig");
  }
  if (settings.as !== undefined) throw new StartError("--user asks no server, so --as goes with --serviceaccount only");
  for (const text of [name, ...groups]) {
    if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new StartError(`${JSON.stringify(text)} cannot be in a certificate`);
  }
  const lifetimeMs = readDuration(settings.duration) ?? yearMs;
  const folder = settings.dataDir ?? flags.dataDir.default;
  const server = await findServer({ ...settings, dataDir: folder });
  const wanted = { commonName: name, organizations: groups, lifetimeMs };
  const pair = await issueClientCertificate(folder, wanted, systemClock, systemRandom);
  const until = new Date(systemClock.now() + lifetimeMs).toISOString();
  return { name, credentials: pair, until, server };
}

async function forAccount(text: string, settings: Settings<typeof flags>): Promise<NewIdentity> {
  const [namespace = "", account = "", ...more] = text.split("/");
  if (namespace === "" || account === "" || more.length > 0) {
    throw new StartError(`invalid value ${JSON.stringify(text)} for --serviceaccount: must be NAMESPACE/NAME`);
  }
  const durationMs = readDuration(settings.duration) ?? 0;
  const server = await findServer(settings);
  const { status } = await requestToken(server, { namespace, account, durationMs });
  const name = `system:serviceaccount:${namespace}:${account}`;
  return { name, namespace, credentials: { token: status.token }, until: status.expirationTimestamp, server };
}

function readDuration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= 1000) return ms;
  throw new StartError(`invalid value ${JSON.stringify(text)} for --duration: must be a duration such as 10m or 720h`);
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw new StartError(`${file} exists already`);
    throw new StartError(`cannot write ${file}: ${reasonOf(error)}`, { cause: error });
  }
}
