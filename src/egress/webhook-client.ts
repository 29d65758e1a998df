/**
 * Calls the webhook of a `clientConfig`: a URL or a service of the cluster, with its certificate authorities. Calls
 * with the same authorities and credentials share kept connections. Failures have the texts of Go's client, which
 * people search for. Source: upstream's `apiserver/pkg/util/webhook` and `client-go`.
 */
import { posix } from "node:path";
import type { WebhookClientConfig } from "#api/admissionregistration/v1.ts";
import { decodeInPieces, decodePlain } from "#codec/json-pieces.ts";
import { decodeYaml } from "#codec/yaml.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Clock } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import { runCooperatively } from "#std/cooperative.ts";
import { connectionProblem, problemOfConnection } from "./connection-problem.ts";
import { bundleProblem } from "./refused-certificate.ts";
import {
  type OutgoingAnswer,
  OutgoingError,
  type OutgoingOptions,
  openOutgoing,
  type RetirableOutgoing,
} from "./outgoing-https.ts";
import type { OpenTunnel } from "./proxy-tunnel.ts";
import type { FindServiceAddress, ServiceAddress } from "./service-address.ts";
import { type WebhookCall, WebhookCallError } from "./webhook-call.ts";

/** The credentials that identify the server to a webhook. They must never be printed. */
export interface WebhookCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly trust: Pick<OutgoingOptions, "cert" | "key">;
}

export interface WebhookClientOptions {
  readonly clock: Clock;
  readonly serviceAddress: FindServiceAddress;
  /** Webhooks at URLs, and those that are services, are reached through these proxies. Left out: directly. */
  readonly tunnels?: { readonly url?: OpenTunnel | undefined; readonly service?: OpenTunnel | undefined };
  /** Returns the credentials for a host and port, such as `hook.example.com:443` or `name.namespace.svc:443`. */
  credentials(target: string): WebhookCredentials | undefined;
}

/** The maximum number of connection pools; the least recently used pool is closed. */
const keptMax = 64;

export class WebhookClients {
  readonly #options: WebhookClientOptions;
  /** The connection pools, in the order of their last use. */
  readonly #pools = new Map<string, RetirableOutgoing>();

  constructor(options: WebhookClientOptions) {
    this.#options = options;
  }

  /** Calls a webhook and resolves with the object in its answer. Rejects with a `WebhookCallError`. */
  async post(config: WebhookClientConfig, call: WebhookCall): Promise<Readonly<Record<string, unknown>>> {
    const target = targetOf(config);
    const seconds = Math.max(1, Math.ceil(call.timeoutMs / 1000));
    const shown = `${target.url}?timeout=${seconds}s`;
    let answer: OutgoingAnswer;
    if (target.problem !== undefined) throw new WebhookCallError(`Post ${goQuote(shown)}: ${target.problem}`);
    try {
      const address = target.service && this.#options.serviceAddress(...target.service);
      const credentials = this.#options.credentials(target.host);
      answer = await this.#outgoing(config, target, credentials).callOut({
        url: address === undefined ? shown : reachedAt(shown, address),
        method: "POST",
        headers: {
          ...credentials?.headers,
          ...(target.service === undefined ? {} : { host: target.host }),
          "content-type": "application/json",
          accept: "application/json, */*",
          "user-agent": "kube-apiserver-admission",
          ...(call.traceparent === undefined ? {} : { traceparent: call.traceparent }),
        },
        body: call.body,
        timeoutMs: call.timeoutMs,
        maxBytes: call.answerBytesMax,
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      });
    } catch (error) {
      if (error instanceof WebhookCallError) throw error;
      throw new WebhookCallError(callProblem(error, { ...target, shown }, call), {
        isTimeout: isTimeout(error),
        problem: problemOfConnection(error),
        cause: error,
      });
    }
    return objectOf(answer);
  }

  /** Ends connections and pending calls. */
  close(): void {
    for (const outgoing of this.#pools.values()) outgoing.close();
    this.#pools.clear();
  }

  #outgoing(
    { caBundle = "" }: WebhookClientConfig,
    { serverName, service }: Target,
    credentials?: WebhookCredentials,
  ): RetirableOutgoing {
    const { cert, key } = credentials?.trust ?? {};
    const ca = Buffer.from(caBundle, "base64").toString();
    const way = wayTo(service);
    const id = JSON.stringify([caBundle, serverName, cert, way]);
    const cached = this.#pools.get(id);
    const problem = cached === undefined && ca !== "" ? bundleProblem(ca) : undefined;
    if (problem !== undefined) {
      throw new WebhookCallError(`unable to load root certificates: ${problem}`, {
        isUncallable: true,
        problem: "unknown_authority",
      });
    }
    this.#pools.delete(id);
    const outgoing =
      cached ??
      openOutgoing({
        clock: this.#options.clock,
        tunnel: way === "own" ? undefined : this.#options.tunnels?.[way],
        ...(ca === "" ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
        ...(serverName === undefined ? {} : { serverName }),
      });
    this.#pools.set(id, outgoing);
    for (const [oldest, gone] of this.#pools) {
      if (this.#pools.size <= keptMax) break;
      this.#pools.delete(oldest);
      gone.retire();
    }
    return outgoing;
  }
}

const isTimeout = (error: unknown): error is OutgoingError =>
  error instanceof OutgoingError && error.code === "TIMEOUT";

/** Returns the message of a call that failed; `shown` is its URL. */
function callProblem(
  error: unknown,
  { shown, ...target }: Target & { readonly shown: string },
  { isClientLimit = false }: WebhookCall,
): string {
  const isReading = isTimeout(error) && error.step === "body";
  const limit = isReading ? "Client.Timeout or context cancellation while reading body" : awaitingHead;
  const isLate = isTimeout(error) && error.step !== "handshake";
  const problem =
    connectionProblem(error, { ...target, isHttp: true }) + (isLate && isClientLimit ? ` (${limit})` : "");
  return isReading
    ? `unexpected error when reading response body. Please retry. Original error: ${problem}`
    : `Post ${goQuote(shown)}: ${problem}`;
}

const awaitingHead = "Client.Timeout exceeded while awaiting headers";

interface Target {
  /** The URL in error messages. */
  readonly url: string;
  /** The host with its port. */
  readonly host: string;
  /** Namespace, name and port of the service. */
  readonly service?: readonly [string, string, number];
  /** The name in the certificate, when it is not the host of the URL. */
  readonly serverName?: string;
  /** The reason why nothing listens there. */
  readonly problem?: string;
}

const httpsPort = 443;
const portMax = 65_535;

/** Returns the sort of a target. The server reaches itself without a proxy. */
function wayTo(service: Target["service"]): "url" | "service" | "own" {
  if (service === undefined) return "url";
  const [namespace, name, port] = service;
  return namespace === "default" && name === "kubernetes" && port === httpsPort ? "own" : "service";
}

function targetOf({ url, service }: WebhookClientConfig): Target {
  if (service !== undefined) {
    const { namespace, name, path = "", port = httpsPort } = service;
    const serverName = `${name}.${namespace}.svc`;
    const host = `${serverName}:${port}`;
    return { url: `https://${host}${cleanPath(path)}`, host, service: [namespace, name, port], serverName };
  }
  const [, origin = "", port = "", rest = ""] = /^(https:\/\/[^/?#]*):(\d+)((?:[/?#].*)?)$/is.exec(url ?? "") ?? [];
  if (port !== "" && (Number(port) === 0 || Number(port) > portMax)) return targetWithoutPort(origin, port, rest);
  const parsed = URL.parse(url ?? "");
  if (parsed === null || parsed.protocol !== "https:") {
    throw new WebhookCallError("webhook configuration must have either service or URL");
  }
  const host = parsed.port === "" ? `${parsed.hostname}:${httpsPort}` : parsed.host;
  return { url: `https://${parsed.host}${cleanPath(decodePath(parsed.pathname))}`, host };
}

/** Returns the target of a URL with a port that no connection can have. */
function targetWithoutPort(origin: string, port: string, rest: string): Target {
  const { url, host } = targetOf({ url: `${origin}${rest}` });
  const at = `${host.slice(0, host.lastIndexOf(":"))}:${port}`;
  const isNone = Number(port) === 0;
  return {
    host: at,
    url: url.replace(/^https:\/\/[^/]*/, `https://${at}`),
    problem: isNone ? `dial tcp ${at}: connect: connection refused` : `dial tcp: address ${port}: invalid port`,
  };
}

/** Returns the path as upstream cleans it: without double and trailing slashes, and with dots resolved. */
function cleanPath(path: string): string {
  const joined = posix.join("/", path);
  const clean = joined.length > 1 && joined.endsWith("/") ? joined.slice(0, -1) : joined;
  return encodeURI(clean).replaceAll("?", "%3F").replaceAll("#", "%23");
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Returns the URL with an address instead of the service's name. */
function reachedAt(shown: string, { host, port }: ServiceAddress): string {
  const url = new URL(shown);
  url.hostname = host.includes(":") ? `[${host}]` : host;
  url.port = String(port);
  return url.href;
}

/** Returns the object in the answer. Pauses while it decodes a long answer, so that other work has a turn. */
async function objectOf({ code, headers, body }: OutgoingAnswer): Promise<Readonly<Record<string, unknown>>> {
  const value = await valueOf(body);
  // Upstream: a type that cannot be read is an error, while its value does not matter.
  if (/^\s*;/.test(String(headers["content-type"] ?? ""))) {
    throw new WebhookCallError("Internal error occurred: mime: no media type", { code });
  }
  if (code < 200 || code > 206) {
    const type = String(headers["content-type"] ?? "text/plain");
    throw new WebhookCallError(refusalText(code, value, type.startsWith("text/") ? body.toString() : "unknown"), {
      code,
    });
  }
  if (body.length === 0) {
    const type = headers["content-type"] ?? "application/json";
    throw new WebhookCallError(`0-length response with status code: ${code} and content type: ${String(type)}`);
  }
  if (value === null) return {};
  if (!isObject(value)) throw new WebhookCallError("the answer of the webhook is no JSON object");
  return value;
}

/** The maximum length of an answer in YAML, also when its aliases are expanded: it is decoded without pauses. */
const yamlBytesMax = 256 * 1024;

/** Returns the value of a body in JSON or, if it is none, in YAML; `undefined` for other bodies. */
async function valueOf(body: Buffer): Promise<unknown> {
  try {
    return await runCooperatively(decodeInPieces(body, decodePlain));
  } catch {
    if (body.length > yamlBytesMax) return undefined;
  }
  try {
    // Numbers are those of JSON. Aliases may repeat long texts.
    let left = yamlBytesMax;
    const counted = (key: string, value: unknown): unknown => {
      left -= key.length + (typeof value === "string" ? value.length : 1);
      if (left < 0) throw new RangeError("too long");
      return value;
    };
    return decodePlain(Buffer.from(JSON.stringify(decodeYaml(body).value, counted)));
  } catch {
    return undefined;
  }
}

/** Messages for answers with these codes, whatever their body. */
const refusals: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [504, "the server was unable to return a response in the time allotted, but may still be processing the request"],
]);

/** Returns the message in an answer with an error code. Longer texts are cut. */
function refusalText(code: number, value: unknown, text: string): string {
  const { kind, message = "" } = isObject(value) ? value : {};
  if (kind === "Status" && typeof message === "string") return message.slice(0, shownMax);
  const said = text.trim().slice(0, shownMax);
  const refusal = refusals.get(code);
  if (refusal !== undefined) return refusal;
  if (code === 406 && (said === "" || said === "unknown")) {
    return "the server was unable to respond with a content type that the client supports";
  }
  if ((code === 403 || code === 406 || code === 415) && said !== "") return said;
  return code >= 500
    ? `an error on the server (${goQuote(said)}) has prevented the request from succeeding`
    : `the server responded with the status code ${code} but did not return more information`;
}

const shownMax = 2048;

/**
 * Returns the credentials for a host and port from a kubeconfig. A name in it is the whole name, or has stars for the
 * first labels; the default port may be left out. Source: upstream's `util/webhook/authentication.go`.
 */
export function credentialsFor(
  users: ReadonlyMap<string, WebhookCredentials>,
  target: string,
): WebhookCredentials | undefined {
  const user = byName(users, target);
  const usual = `:${httpsPort}`;
  return user ?? (target.endsWith(usual) ? byName(users, target.slice(0, -usual.length)) : undefined);
}

function byName(users: ReadonlyMap<string, WebhookCredentials>, name: string): WebhookCredentials | undefined {
  const labels = name.split(".");
  const stars = labels.slice(1).map((_label, index) => `*.${labels.slice(index + 1).join(".")}`);
  for (const wanted of [name, ...stars]) {
    const user = users.get(wanted);
    if (user !== undefined) return user;
  }
  return undefined;
}
