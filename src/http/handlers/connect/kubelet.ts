/**
 * Logs of pods, and connections to their containers and ports, from the kubelet of their node. The kubelet knows this
 * server by its certificate, and nothing of the user.
 */
import { allContainers } from "#api/core/containers.ts";
import type { Pod, PodSpec } from "#api/core/v1.ts";
import type { Forwarded, ForwardedAnswer, UpgradedAnswer } from "#egress/forwarding.ts";
import { hostPort, type ServiceAddress } from "#egress/service-address.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import {
  badRequest,
  genericFailure,
  internalError,
  showingValues,
  type StatusError,
  tooManyRequests,
  unclassified,
} from "#meta/status-error.ts";
import type { HandledRequest, Reply } from "../../api-request.ts";
import { readAnswer, streamOf, wholeAnswer } from "../../forwarded-answer.ts";
import { clientHeaders, encodeQuery } from "../../forwarded-head.ts";
import type { NodeAccess } from "../../node-access.ts";
import type { Scope } from "../../scope.ts";
import type { LogOptions } from "./options.ts";
import { isCredential, problemOf, upgradeTo } from "./proxy.ts";
import { kubeletAddress } from "./targets.ts";

/** The maximum bytes of the message of a kubelet that refuses. */
const refusalBytesMax = 50_000;
/** The protocol of the streams of a command, which kubelets speak. */
const streamProtocol = "v4.channel.k8s.io";
const portsProtocol = "portforward.k8s.io";

/** Returns the log of a container as it comes. Throws a `StatusError` when there is none. */
export async function podLog(
  { request, name, namespace, parts }: Scope,
  access: NodeAccess,
  pod: Partial<Pod>,
  options: LogOptions,
): Promise<Reply> {
  const container = containerOf(name, pod.spec, options.container);
  const node = pod.spec?.nodeName ?? "";
  if (node === "") return { code: 204 };
  const address = kubeletAddress(access, node, "pods");
  const protocol = request.upgrade === undefined ? "" : logProtocol(request);
  if (protocol === undefined) return { code: 403, bytes: noBytes };
  const path = `/containerLogs/${namespace}/${name}/${container}${encodeQuery(options.parameters)}`;
  const url = `https://${hostPort(address)}${path}`;
  const forwarder = await access.forwarder(options.skipsVerification ? "unverified kubelet" : "kubelet");
  const call = { method: "GET", path, headers: [], body: undefined, signal: request.signal };
  // A log without lines has no head until there is one.
  const sent = forwarder.send(address, { ...call, headMs: Number.POSITIVE_INFINITY });
  const answer = await access.waitFor(request, sent).catch((error: unknown) => {
    throw showingValues(unclassified(`Get "${url}": ${problemOf(error, { address })}`));
  });
  const { code, headers } = answer;
  const location = headers["location"]?.[0];
  if (code >= 300 && code < 400 && location !== undefined) {
    answer.destroy();
    throw showingValues(unclassified(`Get "${location}": redirects forbidden`));
  }
  if (code < 200 || code > 206) throw await refusal(answer, name);
  return {
    code: 200,
    contentType: headers["content-type"]?.[0] ?? "text/plain",
    ...(protocol === "" ? {} : { headers: { "sec-websocket-protocol": protocol } }),
    stream: { ...streamOf(answer, parts.clock, protocol === base64Protocol), isSession: true },
  };
}

const base64Protocol = "base64.binary.k8s.io";
const logProtocols: readonly string[] = ["binary.k8s.io", base64Protocol];

/** Returns the first offered protocol of a WebSocket in which a log is sent; empty without an offer. */
function logProtocol(request: HandledRequest): string | undefined {
  checkHandshake(request);
  const offered = request.upgradable?.protocols ?? [];
  return offered.length === 0 ? "" : offered.find((one) => logProtocols.includes(one));
}

/** Returns the error of a kubelet that has no log. */
async function refusal(answer: ForwardedAnswer, pod: string): Promise<StatusError> {
  const message = (await readAnswer(answer, refusalBytesMax)).toString();
  if (answer.code === 500) return internalError(message);
  if (answer.code === 400) return badRequest(message);
  if (answer.code === 429) return tooManyRequests(message, 0);
  return genericFailure(answer.code, { group: "", resource: "pods/log" }, pod);
}

/** A connection to a pod. */
interface PodConnection {
  readonly part: "exec" | "attach" | "portforward";
  readonly pod: Partial<Pod>;
  /** Its options, as admission has left them. */
  readonly options: ApiObject;
}

/** Connects the client with the kubelet. Throws a `StatusError` when that is not possible. */
export async function connectToPod(scope: Scope, access: NodeAccess, connection: PodConnection): Promise<Reply> {
  const { request, name, namespace } = scope;
  const { part, pod } = connection;
  const options = connection.options as ApiObject & Options;
  const container = part === "portforward" ? "" : containerOf(name, pod.spec, textOf(options["container"]));
  const node = pod.spec?.nodeName ?? "";
  if (node === "") throw badRequest(`pod ${name} does not have a host assigned`);
  const address = kubeletAddress(access, node, "pods");
  if (request.upgrade === undefined || request.upgradable === undefined) throw badRequest("Upgrade request required");
  const path =
    part === "portforward"
      ? `/portForward/${namespace}/${name}${encodeQuery(portParameters(options))}`
      : `/${part}/${namespace}/${name}/${container}${encodeQuery(commandParameters(options))}`;
  const { protocols } = request.upgradable;
  const isWebSocket = request.upgrade === "websocket";
  const { commandProtocol, tunnelProtocol } = await import("#egress/stream-translation.ts");
  if (isWebSocket && part !== "portforward" && access.translatesCommands && protocols.includes(commandProtocol)) {
    return translateCommand(scope, access, { address, path, options });
  }
  if (isWebSocket && part === "portforward" && access.tunnelsPorts && protocols.includes(tunnelProtocol)) {
    return tunnelPorts(scope, access, { address, path });
  }
  const headers = clientHeaders(request, isCredential);
  const call = { method: request.method, path, headers, headMs: access.upgradeMs, signal: request.signal };
  return upgradeTo(request, access, { address, peer: "kubelet" }, call);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the container that is asked for, or the only one. Throws when there is no such one, or several. */
function containerOf(pod: string, spec: PodSpec | undefined, container: string): string {
  const names = spec === undefined ? [] : allContainers(spec).map(({ name }) => name);
  if (container !== "") {
    if (names.includes(container)) return container;
    throw badRequest(`container ${container} is not valid for pod ${pod}`);
  }
  const containers = spec?.containers ?? [];
  const [only] = containers;
  if (only !== undefined && containers.length === 1) return only.name;
  if (only === undefined) throw badRequest(`a container name must be specified for pod ${pod}`);
  throw showingValues(
    badRequest(`a container name must be specified for pod ${pod}, choose one of: [${names.join(" ")}]`),
  );
}

/** The fields of all kinds of options; admission has kept their types. */
type Options = Readonly<Record<string, unknown>>;

function commandParameters({ stdin, stdout, stderr, tty, command }: Options): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, isOn] of Object.entries({ input: stdin, output: stdout, error: stderr, tty })) {
    if (isOn === true) parameters.set(name, "1");
  }
  for (const word of (command as readonly string[] | null | undefined) ?? []) parameters.append("command", word);
  return parameters;
}

function portParameters({ ports }: Options): URLSearchParams {
  const numbers = (ports as readonly number[] | undefined) ?? [];
  return new URLSearchParams(numbers.length === 0 ? {} : { port: numbers.join(",") });
}

interface KubeletPath {
  readonly address: ServiceAddress;
  readonly path: string;
}

/** Returns the key of a WebSocket, from any origin and with any protocols. Throws unless it can begin. */
function checkHandshake({ headers }: HandledRequest): string {
  if (headers["sec-websocket-version"] !== "13") throw badRequest("missing or bad WebSocket Version");
  const key = headers["sec-websocket-key"] ?? "";
  if (key === "") throw badRequest("mismatch challenge/response");
  return key;
}

/** Begins a WebSocket at once; what the kubelet says, or that it cannot be reached, is told in it. */
async function translateCommand(
  { request, parts }: Scope,
  access: NodeAccess,
  { address, path, options }: KubeletPath & { readonly options: Options },
): Promise<Reply> {
  const key = checkHandshake(request);
  const { commandProtocol, commandStream, handshakeHeaders } = await import("#egress/stream-translation.ts");
  const is = (name: string): boolean => options[name] === true;
  const connection = commandStream({
    clock: parts.clock,
    streams: { stdin: is("stdin"), stdout: is("stdout"), stderr: is("stderr"), tty: is("tty") },
    async connect() {
      const upgraded = await askForSpdy(request, access, { address, path }, streamProtocol).catch((error: unknown) => {
        const url = `https://${hostPort(address)}${path}`;
        throw new Error(`error sending request: Post "${url}": ${problemOf(error, { address })}`);
      });
      if (upgraded.kind === "upgraded") return upgraded;
      const message = (await readAnswer(upgraded.answer, refusalBytesMax)).toString();
      throw new Error(`unable to upgrade connection: ${message}`);
    },
    failure: (problem) => statusMessage(internalError((problem as Error).message)),
  });
  return { code: 101, tunnel: { headers: handshakeHeaders(key, commandProtocol), connection, early: noBytes } };
}

/** Returns a failure as the last message of a command: without a type, and as safe in HTML as Go makes JSON. */
function statusMessage({ status }: StatusError): Buffer {
  const { kind: _kind, apiVersion: _apiVersion, ...members } = status;
  const escaped = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return Buffer.from(JSON.stringify(members).replace(/[&<>\u2028\u2029]/g, escaped));
}

const noBytes = Buffer.alloc(0);

/** Begins a WebSocket when the kubelet has changed to SPDY, whose bytes pass in its messages. */
async function tunnelPorts({ request, parts }: Scope, access: NodeAccess, target: KubeletPath): Promise<Reply> {
  const key = checkHandshake(request);
  const { handshakeHeaders, tunnelProtocol, tunnelStream } = await import("#egress/stream-translation.ts");
  const upgraded = await askForSpdy(request, access, target, portsProtocol).catch((error: unknown) => {
    throw showingValues(unclassified(`error dialing backend: ${problemOf(error, target)}`));
  });
  if (upgraded.kind === "answer") return wholeAnswer(upgraded.answer);
  const connection = tunnelStream(upgraded, parts.clock);
  return { code: 101, tunnel: { headers: handshakeHeaders(key, tunnelProtocol), connection, early: noBytes } };
}

async function askForSpdy(
  request: HandledRequest,
  access: NodeAccess,
  { address, path }: KubeletPath,
  protocol: string,
): Promise<UpgradedAnswer> {
  const forwarder = await access.forwarder("kubelet");
  const call: Omit<Forwarded, "body"> = {
    method: "POST",
    path,
    headers: ["X-Stream-Protocol-Version", protocol, "Content-Length", "0"],
    headMs: access.upgradeMs,
    signal: request.signal,
  };
  const upgraded = await access.waitFor(request, forwarder.upgrade(address, "SPDY/3.1", call));
  return upgraded.kind === "answer" ? upgraded : { ...upgraded, connection: await access.limited(upgraded.connection) };
}
