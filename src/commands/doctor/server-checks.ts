/** Checks of the server itself: certificates, clock, health, store. */
import { isIP } from "node:net";
import { connect, type PeerCertificate } from "node:tls";
import { ApiError } from "#client/api-error.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { namespaceWords, shellWord } from "#meta/printed-command.ts";
import { StartError } from "#std/start-error.ts";
import type { DoctorCheck, DoctorFinding, ExaminedCluster } from "./finding.ts";
import { conditionOf, listAll } from "./lists.ts";
import { expiry, someOf } from "./words.ts";

export const serverChecks: readonly DoctorCheck[] = [
  { name: "health", run: health },
  { name: "certificate and clock of the server", run: certificateAndClock },
  { name: "requests for certificates", run: waitingRequests },
  { name: "store", run: store },
  { name: "refused requests", run: refusedRequests },
];

/** The paths of health, the one of servers before 1.16 last. */
const healthPaths = ["/readyz?verbose", "/healthz"];

async function health({ cluster }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  for (const path of healthPaths) {
    const finding = await healthAt(cluster, path);
    if (finding !== "no such path") return finding === undefined ? [] : [finding];
  }
  throw new StartError("the server has no path that says it");
}

async function healthAt(
  cluster: ExaminedCluster["cluster"],
  path: string,
): Promise<DoctorFinding | "no such path" | undefined> {
  try {
    await cluster.rest.bytes({ method: "GET", path, accept: "text/plain" });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 404) return "no such path";
    if (error.code === 403) return undefined;
    const what = `It is not ready: ${
      error.said
        .split("\n")
        .filter((line) => line.startsWith("[-]"))
        .join(", ") || error.said
    }`;
    return { severity: "problem", about: "server", what, next: "See its log for the check that fails." };
  }
}

const soonMs = 14 * 24 * 3_600_000;
const skewMs = 5000;
const probeMs = 10_000;

interface Seen {
  readonly certificate: PeerCertificate;
  /** The time of the server, with an error of a second. */
  readonly date: string | undefined;
}

async function certificateAndClock({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const seen = await probe(cluster.url);
  if (seen === undefined) return []; // it was reached by the client, through a proxy perhaps
  const findings: DoctorFinding[] = [];
  const until = Date.parse(seen.certificate.valid_to);
  if (until - nowMs < soonMs) {
    const next = "Renew it, or let the server make a new one: binnacle renews its own at a start.";
    const severity = until < nowMs ? "problem" : "warning";
    findings.push({ severity, about: "server", what: expiry("Its certificate", until, nowMs), next });
  }
  const skew = Date.parse(seen.date ?? "") - nowMs;
  if (Math.abs(skew) > skewMs) {
    findings.push({
      severity: "warning",
      about: "clock",
      what: `The clock of the server is ${Math.round(Math.abs(skew) / 1000)} s ${skew > 0 ? "ahead of" : "behind"} this machine's.`,
      next: "Synchronize the clocks: tokens, leases and ages depend on them.",
    });
  }
  return findings;
}

/** The bytes in which the head of an answer must end. */
const headBytesMax = 16 * 1024;

/** Asks the server for its certificate and its time, without credentials; nothing of the answer is trusted. */
function probe(url: string): Promise<Seen | undefined> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port || 443),
      rejectUnauthorized: false,
      ...(isIP(hostname) === 0 && !hostname.startsWith("[") ? { servername: hostname } : {}),
    });
    let head = "";
    const end = (): void => {
      const certificate = socket.getPeerCertificate();
      const [, date] = /^date: *(.*?)\r?$/im.exec(head) ?? [];
      resolve(typeof certificate.valid_to === "string" ? { certificate, date } : undefined);
      socket.destroy();
    };
    socket.setTimeout(probeMs, end);
    socket.once("secureConnect", () => {
      socket.write(`HEAD /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (bytes: Buffer) => {
      head += bytes.toString("latin1");
      if (head.includes("\r\n\r\n") || head.length > headBytesMax) end();
    });
    socket.once("error", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
  });
}

/** The time for which a request for a certificate may wait. */
const waitingMs = 10 * 60_000;

async function waitingRequests({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const requests = await listAll(cluster, "certificates", "certificatesigningrequests");
  return requests.flatMap((one): DoctorFinding[] => {
    const isAnswered = ["Approved", "Denied", "Failed"].some((type) => conditionOf(one, type) !== undefined);
    const age = nowMs - Date.parse(one.metadata.creationTimestamp ?? "");
    if (isAnswered || age < waitingMs) return [];
    const name = one.metadata.name ?? "";
    return [
      {
        severity: "warning",
        about: `certificatesigningrequest/${name}`,
        what: "It waits for somebody who approves it or denies it.",
        next: `binnacle certificate approve ${shellWord(name)}, or deny it`,
      },
    ];
  });
}

function store({ metrics }: ExaminedCluster): readonly DoctorFinding[] {
  const valueOf = (name: string): number => metrics.of(name)[0]?.value ?? 0;
  const findings: DoctorFinding[] = [];
  if (valueOf("binnacle_storage_failed") > 0) {
    findings.push({
      severity: "problem",
      about: "store",
      what: "It takes no more writes, since writing to the disk failed.",
      next: "See the log for the reason, such as a full disk, then start the server again.",
    });
  }
  const unreadable = valueOf("binnacle_storage_unreadable_objects");
  if (unreadable > 0) {
    findings.push({
      severity: "problem",
      about: "store",
      what: `${unreadable} stored objects cannot be read, because they are damaged or their key is missing.`,
      next: "binnacle verify names them.",
    });
  }
  const missing = valueOf("binnacle_processes_missing");
  if (missing > 0) {
    const what = `${missing} of its processes are not running.`;
    findings.push({ severity: "warning", about: "server", what, next: "See the log for the reason why they ended." });
  }
  return findings;
}

/** The number of refusals of an action from which it is told: a program that lacks a right asks again and again. */
const refusalsMin = 3;

function refusedRequests({ metrics }: ExaminedCluster): readonly DoctorFinding[] {
  if (!metrics.isKnown) return [];
  if (metrics.of("binnacle_storage_keys").length === 0) {
    throw new StartError(
      "this server does not count them; where the log of a controller says what was forbidden, ask: binnacle why VERB KIND --as=USER",
    );
  }
  // People and strangers are refused now and then, which is no fault of the cluster. They are counted without a name.
  const refused = metrics
    .of("binnacle_authorization_refused_total")
    .filter(({ labels, value }) => !["", "other"].includes(labels["user"] ?? "") && value >= refusalsMin)
    .sort((one, other) => other.value - one.value);
  return [...Map.groupBy(refused, ({ labels }) => labels["user"] ?? "")].map(([user, actions]): DoctorFinding => {
    const times = someOf(actions.map(({ labels, value }) => `${actionText(labels)} (${value} times)`));
    return {
      severity: "warning",
      about: accountText(user),
      what: `It lacks a right, and was refused since the server started: ${times}.`,
      next: refusalAdvice(actions, user),
    };
  });
}

type ActionLabels = Readonly<Record<string, string>>;

const kindOf = ({ resource = "", group = "" }: ActionLabels): string => `${resource}${group === "" ? "" : `.${group}`}`;

function actionText(labels: ActionLabels): string {
  const { verb = "", subresource = "", namespace = "" } = labels;
  const where = namespace === "" ? "" : ` in namespace ${namespace}`;
  return `${verb} ${kindOf(labels)}${subresource === "" ? "" : `/${subresource}`}${where}`;
}

/** Returns how to ask about the first action that can be asked about. */
function refusalAdvice(actions: readonly { readonly labels: ActionLabels }[], user: string): string {
  const action = actions.find(({ labels }) => hasNames(labels));
  if (action === undefined) {
    return "It is no right that anybody could be given, since its verb, kind or namespace is no valid name: look for a mistake in what sends it, or for somebody who tries addresses.";
  }
  return `See what would allow it: binnacle why ${questionText(action.labels)} ${shellWord(`--as=${user}`)}`;
}

/** Whether an action is about valid names. Who is refused chooses the words, which are those of the path. */
function hasNames({ verb = "", resource = "", group = "", subresource = "", namespace = "" }: ActionLabels): boolean {
  const labels = [verb, resource, ...[subresource, namespace].filter((text) => text !== "")];
  return (
    labels.every((text) => dns1123Label(text).length === 0) && (group === "" || dns1123Subdomain(group).length === 0)
  );
}

function questionText(labels: ActionLabels): string {
  const { verb = "", subresource = "", namespace = "" } = labels;
  const part = subresource === "" ? "" : ` ${shellWord(`--subresource=${subresource}`)}`;
  return `${shellWord(verb)} ${shellWord(kindOf(labels))}${part}${namespaceWords(namespace)}`;
}

/** Returns a user as the name of its service account, if it is one. */
function accountText(user: string): string {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  return name === undefined ? user : `serviceaccount/${name} in ${namespace}`;
}
