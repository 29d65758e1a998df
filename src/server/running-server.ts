/**
 * The way of commands to a running server: the client of the library, with the kubeconfig of the data folder or another
 * one, a time limit for each call, and messages for people.
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
import { checkedStatus, RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import { systemClock } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import { systemRandom } from "#std/random.ts";
import { reasonOf } from "#std/system-error.ts";
import { binnacleFlag, list, optional, type Settings, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { expiredCredential } from "./expired-credential.ts";
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
    // Messages show the URL.
    if (server.username !== "" || server.password !== "") {
      throw new StartError("the URL of --server must not contain a user or a password: they would not be sent");
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

/** A server that a command calls. */
export interface CalledServer {
  readonly url: string;
  /**
   * Rejects with `ApiError`, whose message is what people are told, for codes of 300 and more, and otherwise with
   * `StartError`: with `Unreachable` when the server does not answer.
   */
  readonly rest: RestClient;
}

interface CallOptions {
  /** The time limit of a request; watches have none. */
  readonly timeoutMs?: number;
  /** Is given the warnings of each answer. */
  readonly warned?: (warnings: readonly string[]) => void;
}

/** The maximum bytes of an answer to a command. */
const answerBytesMax = 256 * 1024 * 1024;

/** Does work with a server, over connections that stay open until then. Rejects with `StartError` for what the server refuses. */
export async function withServer<T>(
  settings: ConnectionSettings,
  work: (server: CalledServer) => Promise<T>,
  options: CallOptions = {},
): Promise<T> {
  const connection = openConnection(settings, {
    clock: waitingClock,
    random: systemRandom,
    userAgent: `binnacle/${programVersion()}`,
    bodyBytesMax: answerBytesMax,
  });
  const url = urlOf(settings);
  try {
    return await work({ url, rest: new RestClient(commandTransport(connection, settings, options)) });
  } catch (error) {
    throw error instanceof ApiError ? new StartError(error.message, { cause: error }) : error;
  } finally {
    await connection.close();
  }
}

/** Returns the transport with the time limit and the errors of commands. */
function commandTransport(connection: Transport, settings: ConnectionSettings, options: CallOptions): Transport {
  const { timeoutMs = defaultTimeoutMs, warned } = options;
  const url = urlOf(settings);
  const refused = async (request: ClientRequest, answer: ClientResponse): Promise<ApiError> => {
    const credential = answer.code === 401 ? await settings.credentials.current(request.signal) : undefined;
    return refusalOf(url, request, answer, credential && expiredCredential(credential, systemClock.now()));
  };
  return {
    async request(request) {
      const timeout = new AbortController();
      const cancel = waitingClock.after(timeoutMs, () => {
        timeout.abort(new Unreachable(`${url} did not answer within ${timeoutMs / 1000} s`));
      });
      const signals = request.signal === undefined ? [timeout.signal] : [timeout.signal, request.signal];
      try {
        const answer = await connection.request({ ...request, signal: AbortSignal.any(signals) });
        if (answer.code >= 300) throw await refused(request, answer);
        const isJson = request.accept === undefined || request.accept.includes("json");
        if (isJson && !/^\s*[{[]/.test(answer.body.toString("latin1", 0, beginningLength))) {
          throw new StartError(`${url} answered ${answer.code} with something that is not JSON: is it an API server?`);
        }
        warned?.(answer.warnings ?? []);
        return answer;
      } catch (error) {
        throw asStartError(error);
      } finally {
        cancel();
      }
    },
    async stream(request, onEvent) {
      try {
        const answer = await connection.stream(request, onEvent);
        if (answer.code >= 300) throw await refused(request, answer);
        return answer;
      } catch (error) {
        throw asStartError(error);
      }
    },
  };
}

/** The length of the part of an answer that tells whether it may be JSON. */
const beginningLength = 64;

/** Returns the error for an answer. `reason` is what is known of it beside the answer. */
function refusalOf(
  url: string,
  request: ClientRequest,
  { code, body }: ClientResponse,
  reason: string | undefined,
): ApiError {
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString());
  } catch {
    // A request for text gets all of it; a page that a proxy sends instead of JSON is not for people.
    answer = {
      message: body
        .toString()
        .slice(0, request.accept === "text/plain" ? 8192 : 200)
        .trim(),
    };
  }
  const { message } = isObject(answer) ? (answer as { readonly message?: unknown }) : {};
  const said =
    reason === undefined ? answer : { message: `${typeof message === "string" ? message : "Unauthorized"}: ${reason}` };
  return refusal(url, request, code, said);
}

/** Returns the error of a request that was answered with a code and with `answer`, which should be a `Status`. */
export function refusal(
  url: string,
  request: Pick<ClientRequest, "method" | "path">,
  code: number,
  answer: unknown,
): ApiError {
  const status = checkedStatus(isObject(answer) ? answer : {});
  const said = (status.message ?? "") === "" ? `code ${code}` : status.message;
  return new ApiError(request, { ...status, code, message: said! }, { message: `${said} (${code} from ${url})` });
}
