/**
 * Calls from commands to a running server, with the kubeconfig of its data folder or another kubeconfig. Each call has a
 * time limit.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { waitingClock } from "#client/clock.ts";
import { openConnection } from "#client/connection.ts";
import { ConnectionError } from "#client/connection-error.ts";
import type { ConnectionSettings, Impersonation } from "#client/connection-settings.ts";
import { ApiError } from "#client/api-error.ts";
import { CredentialsError } from "#client/credentials.ts";
import { defaultSettings, KubeconfigError, loadKubeconfig, settingsOf } from "#client/kubeconfig.ts";
import { follow, type FollowStep } from "#client/follow.ts";
import type { ReceivedEvent } from "#client/received-event.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse } from "#client/transport.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Status } from "#meta/status-error.ts";
import { exactValue } from "#codec/strict.ts";
import { systemRandom } from "#std/random.ts";
import { reasonOf } from "#std/system-error.ts";
import { binnacleFlag, list, optional, type Settings, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { programVersion } from "./program-version.ts";

/** Flags of commands that call a server. */
export const connectionFlags = {
  dataDir: text(
    binnacleFlag("data-dir"),
    "./.binnacle",
    "folder",
    "The server's data folder; its admin.kubeconfig says where the server is and who asks.",
  ),
  kubeconfig: optional(
    binnacleFlag("kubeconfig"),
    "file",
    "Ask by this kubeconfig instead of the data folder's; default: the files of $KUBECONFIG, if it is set.",
  ),
  context: optional(
    binnacleFlag("context"),
    "name",
    "Ask by this context of the kubeconfig instead of its current one.",
  ),
  server: optional(binnacleFlag("server"), "url", "Ask at this address instead of the kubeconfig's."),
  as: optional(binnacleFlag("as"), "user", "Ask as this user, which takes the right to impersonate that user."),
  asGroup: list(binnacleFlag("as-group"), "group", "A group of the user of --as. May be repeated."),
};

type ConnectionFlags = Settings<typeof connectionFlags>;

/**
 * Reads the kubeconfig to which the flags lead: the one that is named, that of the data folder that is named, those of
 * the variable `KUBECONFIG`, or that of the data folder in the current folder. Rejects with `StartError`.
 */
export async function findServer(flags: ConnectionFlags): Promise<ConnectionSettings> {
  try {
    const { context } = flags;
    const file = kubeconfigFile(flags);
    const settings =
      file === undefined
        ? await defaultSettings({ context })
        : await settingsOf(await loadKubeconfig({ files: file }), { context });
    const server = flags.server === undefined ? settings.server : URL.parse(flags.server);
    if (server?.protocol !== "https:") {
      const shown = JSON.stringify(flags.server ?? settings.server.href);
      throw new StartError(`${shown} is no https URL: credentials go nowhere else`);
    }
    const impersonate = impersonationOf(flags);
    return { ...settings, server, ...(impersonate === undefined ? {} : { impersonate }) };
  } catch (error) {
    throw asStartError(error);
  }
}

/** Returns the user of `--as`; `undefined` leaves it to the kubeconfig. Throws `StartError`. */
function impersonationOf({ as: user, asGroup: groups = [] }: ConnectionFlags): Impersonation | undefined {
  if (user !== undefined) return { user, groups, extra: {} };
  if (groups.length > 0) throw new StartError("--as-group needs the user who is in the group: add --as USER");
  return undefined;
}

/** Returns the file that is read; `undefined` for those of the variable. Throws `StartError`. */
function kubeconfigFile({ kubeconfig, dataDir }: ConnectionFlags): string | undefined {
  if (kubeconfig !== undefined) return kubeconfig;
  if (dataDir === undefined && (process.env["KUBECONFIG"] ?? "") !== "") return undefined;
  const folder = dataDir ?? connectionFlags.dataDir.default;
  const file = join(folder, "admin.kubeconfig");
  try {
    // `statSync` throws for a folder on the way that cannot be searched.
    if (statSync(file, { throwIfNoEntry: false }) !== undefined) return file;
  } catch (error) {
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
  }
  const other = dataDir === undefined ? ", or a kubeconfig with --kubeconfig" : "";
  throw new StartError(`no admin.kubeconfig in ${folder}: name the server's folder with --data-dir${other}`);
}

/** Returns errors that are told in one line as `StartError`, and others unchanged. */
function asStartError(error: unknown): unknown {
  if (error instanceof ConnectionError) return new Unreachable(error.message, { cause: error });
  const isTold = error instanceof KubeconfigError || error instanceof CredentialsError;
  return isTold ? new StartError(error.message, { cause: error }) : error;
}

/** Returns the URL of a server as it is shown, and as paths follow it. */
export const urlOf = ({ server }: ConnectionSettings): string => server.href.replace(/\/+$/, "");

const defaultTimeoutMs = 30_000;

/** No server answers at the address. */
export class Unreachable extends StartError {}

/** The server answered with an error. */
export class ErrorAnswer extends StartError {
  readonly code: number;
  /** The reason in the `Status` of the answer; empty without one. */
  readonly reason: string;
  /** The message of the server. */
  readonly said: string;
  /** The `Status` of the answer, or what there is of it. */
  readonly status: Partial<Status>;
  /** The continue token of a 410 answer to a list; empty without one. */
  readonly continue: string;

  constructor(url: string, code: number, status: Partial<Status>) {
    const { message, reason, metadata } = status;
    const said = typeof message === "string" && message !== "" ? message : `code ${code}`;
    super(`${said} (${code} from ${url})`);
    this.code = code;
    this.status = status;
    this.reason = reason ?? "";
    this.said = said;
    const token = (metadata as { readonly continue?: unknown } | undefined)?.continue; // absent but in such a `Status`
    this.continue = typeof token === "string" ? token : "";
  }
}

export interface ServerCall {
  readonly method: ClientRequest["method"];
  /** The path with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** The media type of the body, which is JSON. */
  readonly contentType?: string;
  /** The media type of the answer; JSON by default. */
  readonly accept?: string;
  readonly timeoutMs?: number;
}

interface WatchCall {
  /** The path with its query. */
  readonly path: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

interface ServerAnswer<T> {
  readonly value: T;
  /** The warnings that the server sent. */
  readonly warnings: readonly string[];
}

/** Calls one server over connections that stay open. */
export interface ServerClient {
  readonly url: string;
  /**
   * Rejects with `StartError` for every failure: with `Unreachable` when the server does not answer, with `ErrorAnswer` for
   * codes of 300 and more. `T` is the caller's claim about the answer of the path.
   */
  call<T>(call: ServerCall): Promise<ServerAnswer<T>>;
  close(): Promise<void>;
}

/** A client that also watches. */
export interface WatchingClient extends ServerClient {
  /**
   * Watches, and resolves when the server ends the watch or the signal is aborted. Rejects as `call` does, also when the
   * watch is cut.
   */
  watch(call: WatchCall, onEvent: (event: ReceivedEvent) => void): Promise<void>;
  /** Follows the objects of a collection, as `client/follow.ts` explains. Throws as `call` rejects. */
  follow<T extends ApiObject>(path: string, signal: AbortSignal): AsyncGenerator<FollowStep<T>>;
}

/** The maximum bytes of an answer to a command. */
const answerBytesMax = 256 * 1024 * 1024;

export function openServerClient(settings: ConnectionSettings): WatchingClient {
  const connection = openConnection(settings, {
    clock: waitingClock,
    random: systemRandom,
    userAgent: `binnacle/${programVersion()}`,
    bodyBytesMax: answerBytesMax,
  });
  const url = urlOf(settings);
  return {
    url,
    async call<T>({ method, path, body, timeoutMs = defaultTimeoutMs, ...types }: ServerCall) {
      const { accept, contentType = "application/json" } = types;
      const content = {
        ...(body === undefined ? {} : { contentType, body: Buffer.from(JSON.stringify(body)) }),
        ...(accept === undefined ? {} : { accept }),
      };
      const timeout = new AbortController();
      const cancel = waitingClock.after(timeoutMs, () => {
        timeout.abort(new Unreachable(`${url} did not answer within ${timeoutMs / 1000} s`));
      });
      try {
        const answer = await connection.request({ method, path, ...content, signal: timeout.signal });
        return { value: read<T>(url, answer.code, answer.body.toString()), warnings: answer.warnings ?? [] };
      } catch (error) {
        throw asStartError(error);
      } finally {
        cancel();
      }
    },
    async watch({ path, ...more }, onEvent) {
      let answer: ClientResponse;
      try {
        answer = await connection.stream({ method: "GET", path, ...more }, onEvent);
      } catch (error) {
        if (more.signal?.aborted === true) return;
        throw asStartError(error);
      }
      if (answer.code !== 200) read(url, answer.code, answer.body.toString());
    },
    async *follow<T extends ApiObject>(path: string, signal: AbortSignal) {
      try {
        yield* follow<T>({
          client: new RestClient(connection),
          path,
          clock: waitingClock,
          random: systemRandom,
          signal,
        });
      } catch (error) {
        throw error instanceof ApiError ? new ErrorAnswer(url, error.code, error.status) : asStartError(error);
      }
    },
    close: () => connection.close(),
  };
}

/** Creates an object and resolves with the answer. Rejects as `ServerClient.call` does. */
export async function post<T>(
  server: ConnectionSettings,
  path: string,
  object: unknown,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const client = openServerClient(server);
  try {
    return (await client.call<T>({ method: "POST", path, body: object, timeoutMs })).value;
  } finally {
    await client.close();
  }
}

function read<T>(url: string, code: number, body: string): T {
  let value: unknown;
  try {
    value = longNumber.test(body) ? exactValue(body) : JSON.parse(body);
  } catch {
    if (code >= 400) throw new ErrorAnswer(url, code, { message: body.slice(0, 200).trim() });
    throw new StartError(`${url} answered ${code} with something that is not JSON: is it an API server?`);
  }
  if (code < 300) return value as T; // the caller names what the path answers
  throw new ErrorAnswer(url, code, (value ?? {}) as Partial<Status>); // whose fields are checked
}

/** Matches numbers that may be too large for a double to hold exactly. */
const longNumber = /[0-9]{16}/;
