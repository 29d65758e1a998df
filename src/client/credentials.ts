/**
 * Credentials of requests: those of a kubeconfig's user, which are texts, files that are read again, or the answers of
 * a plugin; and those that a program gives itself.
 */
import { type Clock, systemClock } from "#std/clock.ts";
import { attempt, type MaybePromise } from "#std/maybe-promise.ts";
import type { Credential, CredentialSource } from "./connection-settings.ts";
import { checkExec, type ExecCluster } from "./credentials/exec-config.ts";
import { type CertificateWithKey, parseCertificate, parseToken } from "./credentials/parts.ts";
import { PluginCredentials } from "./credentials/plugin-credentials.ts";
import { type Part, UserCredentials } from "./credentials/user-credentials.ts";
import { entryError, pathBeside, type UserEntry } from "./kubeconfig-entries.ts";
import { WatchedFiles } from "./watched-file.ts";

export { CredentialsError } from "./credentials/credentials-error.ts";
export type { ExecCluster } from "./credentials/exec-config.ts";

interface CredentialOptions {
  /** The name of the user in the kubeconfig, for messages. */
  readonly name: string;
  /** Returns the cluster of the context, for plugins that are to know it. */
  readonly cluster: () => MaybePromise<ExecCluster>;
  /** The time; default: the machine's. */
  readonly clock?: Clock;
  /** The environment of plugins; default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Returns a source that always gives this credential. `{}` is the anonymous caller. */
export function fixedCredentials(credential: Credential): CredentialSource {
  return { current: () => credential, rejected: () => false };
}

/** Returns a source that reads a token from a file, again when the file changes. `fail` makes the error. */
export function tokenFileCredentials(file: string, fail: (problem: string) => Error, clock: Clock): CredentialSource {
  return new UserCredentials({ token: tokenFile(file, fail, clock) });
}

/**
 * Returns the source of a user's credentials. A token file comes before a token, and a token before a plugin; the text
 * of a certificate comes before its file, and a certificate before that of a plugin. Throws `KubeconfigError` for
 * settings that cannot be used.
 */
export function credentialsOf(user: UserEntry, options: CredentialOptions): CredentialSource {
  const { name, cluster, clock = systemClock, environment = process.env } = options;
  const fail = (problem: string): Error => entryError("user", name, user.origin, problem);
  refuseLegacy(user, fail);
  const token = tokenOf(user, fail, clock);
  const certificate = certificateOf(user, fail, clock);
  const config = user.exec === undefined ? undefined : checkExec(name, user);
  const hasPlugin = config !== undefined && token === undefined;
  return new UserCredentials({
    ...(token === undefined ? {} : { token }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(hasPlugin ? { plugin: new PluginCredentials({ config, cluster, clock, environment }) } : {}),
  });
}

function refuseLegacy(user: UserEntry, fail: (problem: string) => Error): void {
  if (user["auth-provider"] !== undefined) {
    throw fail("auth-provider: logins that are built into clients are not supported: use the provider's plugin (exec)");
  }
  if (user.username !== undefined || user.password !== undefined) {
    throw fail("username, password: no server since Kubernetes 1.19 accepts them: use a token or a certificate");
  }
}

function tokenOf(
  { token, tokenFile: path = "", origin }: UserEntry,
  fail: (problem: string) => Error,
  clock: Clock,
): Part<string> | undefined {
  const fixed = token === undefined || token === "" ? undefined : checked(() => parseToken(token), "token", fail);
  if (path !== "") return tokenFile(pathBeside(origin, path), (problem) => fail(`tokenFile: ${problem}`), clock, fixed);
  return fixed === undefined ? undefined : { read: () => fixed, hasChanged: () => false };
}

/** `spare` is the token while the file has never been readable. */
function tokenFile(file: string, fail: (problem: string) => Error, clock: Clock, spare?: string): Part<string> {
  const watched = new WatchedFiles({ files: [file], clock, fail, parse: ([text = ""]) => parseToken(text) });
  return {
    read: () =>
      attempt(
        () => watched.read(),
        undefined,
        (error) => {
          if (spare === undefined) throw error;
          return spare;
        },
      ),
    hasChanged: () => watched.haveChanged(),
  };
}

function certificateOf(
  user: UserEntry,
  fail: (problem: string) => Error,
  clock: Clock,
): Part<CertificateWithKey> | undefined {
  const { origin } = user;
  const cert = sourceOf(origin, user["client-certificate-data"], user["client-certificate"]);
  const key = sourceOf(origin, user["client-key-data"], user["client-key"]);
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw fail("client-certificate and client-key must be given together, and one of them is missing");
  }
  const files = [cert, key].flatMap(({ file }) => (file === undefined ? [] : [file]));
  const parse = (texts: readonly string[]): CertificateWithKey => {
    const [first = "", second = first] = texts;
    return parseCertificate(cert.text ?? first, key.text ?? second);
  };
  if (files.length > 0) {
    const watched = new WatchedFiles({
      files,
      clock,
      fail: (problem) => fail(`client-certificate: ${problem}`),
      parse,
    });
    return { read: () => watched.read(), hasChanged: () => watched.haveChanged() };
  }
  const pair = checked(() => parse([]), "client-certificate-data", fail);
  return { read: () => pair, hasChanged: () => false };
}

/** Returns the text, or else the file, of a part of the credential. */
function sourceOf(
  origin: string | undefined,
  data = "",
  path = "",
): { readonly text?: string; readonly file?: string } | undefined {
  if (data !== "") return { text: Buffer.from(data, "base64").toString() };
  return path === "" ? undefined : { file: pathBeside(origin, path) };
}

function checked<T>(parse: () => T, field: string, fail: (problem: string) => Error): T {
  try {
    return parse();
  } catch (error) {
    throw fail(`${field}: ${(error as Error).message}`);
  }
}
