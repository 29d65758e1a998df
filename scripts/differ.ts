/** `npm run differ`: sends the same random requests to our server and to another, and shows where answers differ. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { readCommandLine } from "./command-line.ts";
import { type Json, type RuleCase, ruleCase } from "./differ-rules.ts";
import { compareWebhooks } from "./differ-webhooks.ts";

const usage = `Sends the same random requests to two servers and compares the answers.

Usage: npm run differ -- --rules | --webhooks --ours URL,TOKEN --reference URL,TOKEN [options]

  --rules           definitions of custom resources with CEL rules, and objects for them: which rules are refused and
                    with what text, which objects, and the warnings
  --webhooks        the cases of test/webhooks and random configurations of webhooks with random writes: what both servers
                    ask a webhook server that this starts, and what they answer
  --record FILE     of --webhooks: writes what the reference did, as test/webhooks expects it
  --only TEXT       of --webhooks: cases with this in their names, none at random
  --ours URL,TOKEN  our server, in the domain k8s.io
  --reference URL,TOKEN
                    the other one, a kube-apiserver. A token is that of a user who may do everything, or @FILE, which
                    holds it. Certificates are not checked
  --seed N          the first case (a random number); the cases that follow have the numbers that follow
  --runs N          cases (50)
  --differences N   ends after so many cases that differ (10)
  -v, --verbose     say what was compared
  -h, --help        print this

A difference shows its case's seed and both answers; --seed N --runs 1 sends that one alone. Definitions are removed again. The exit code is 1
if answers differ. Addresses in Go's syntax, random names of types, and the order of causes are not compared.`;

interface Server {
  readonly name: string;
  readonly url: URL;
  readonly token: string;
  readonly agent: Agent;
}

interface Answer {
  readonly code: number;
  readonly body: Json;
  readonly warnings: readonly string[];
}

function readServer(name: string, text: string | undefined): Server {
  const [address = "", token = ""] = (text ?? "").split(",");
  const url = URL.parse(address);
  if (url?.protocol !== "https:" || token === "") {
    process.stderr.write(`--${name}: expected https://HOST:PORT,TOKEN; --help prints what there is\n`);
    process.exit(2);
  }
  const read = token.startsWith("@") ? readFileSync(token.slice(1), "utf8").trim() : token;
  return { name, url, token: read, agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) };
}

function ask(server: Server, method: string, path: string, body?: Json): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
    const sent = request(new URL(path, server.url), { method, headers, agent: server.agent }, (reply) => {
      const parts: Buffer[] = [];
      reply.on("data", (part: Buffer) => parts.push(part));
      reply.on("error", reject);
      reply.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const warnings = [reply.headers["warning"] ?? []].flat();
        // A body that is no JSON is an answer too.
        const parsed = text.startsWith("{") ? (JSON.parse(text) as Json) : { text };
        resolve({ code: reply.statusCode ?? 0, body: parsed, warnings });
      });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const definition = (group: string, schema: Json): Json => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

/** The members of a failure. */
interface Failure {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason: string; readonly field: string; readonly message: string }[];
  };
}

/** What is compared of an answer. */
function essence({ code, body, warnings }: Answer): string {
  const { reason = "", message = "", details } = code >= 400 ? (body as Failure) : {}; // a Status, or none of its members
  const causes = details?.causes?.map((cause) => `${cause.reason} ${cause.field}: ${cause.message}`).sort();
  const lines = [`${code} ${reason}`, ...(causes ?? [message]), ...warnings.map((text) => `warning: ${text}`).sort()];
  return lines
    .join("\n")
    .replace(/selfType\d+/g, "selfType")
    .replace(/(\(\*[\w.]+\))\((?!nil)[^)]*\)/g, "$1(...)");
}

class Comparison {
  readonly #servers: readonly Server[];
  compared = 0;
  differing = 0;

  constructor(servers: readonly Server[]) {
    this.#servers = servers;
  }

  /** Asks both; the code if they agree. */
  async ask(what: string, method: string, path: string, body?: (server: number) => Json): Promise<number | undefined> {
    const answers = await Promise.all(this.#servers.map((server, at) => ask(server, method, path, body?.(at))));
    const [one, other] = answers.map(essence);
    this.compared++;
    if (one === other) return answers[0]!.code;
    this.differing++;
    const shown = this.#servers.map(({ name }, at) => `--- ${name}\n${[one, other][at]}`).join("\n");
    process.stdout.write(`${what}\n${body === undefined ? "" : JSON.stringify(body(0))}\n${shown}\n\n`);
    return undefined;
  }

  /** Asks both without comparing. */
  each(method: string, path: string, body?: Json): Promise<readonly Answer[]> {
    return Promise.all(this.#servers.map((server) => ask(server, method, path, body)));
  }

  /** Until both answer with this code. */
  async until(code: number, method: string, path: string): Promise<void> {
    for (let attempt = 0; attempt < 400; attempt++) {
      if ((await this.each(method, path)).every((answer) => answer.code === code)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`${method} ${path} is not answered with ${code}`);
  }
}

async function compareRules(comparison: Comparison, { schema, objects }: RuleCase, seed: number): Promise<void> {
  const group = `differ${seed}.example.com`;
  const path = `/apis/${group}/v1/widgets`;
  const made = await comparison.ask(`seed ${seed}: definition`, "POST", definitions, () => definition(group, schema));
  try {
    if (made !== 201) return;
    await comparison.until(200, "GET", path);
    await compareObjects(comparison, path, group, objects, seed);
  } finally {
    await comparison.each("DELETE", `${definitions}/widgets.${group}`);
  }
}

async function compareObjects(
  comparison: Comparison,
  path: string,
  group: string,
  objects: readonly Json[],
  seed: number,
): Promise<void> {
  let isThere = false;
  for (const [at, object] of objects.entries()) {
    const body = { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "w" }, ...object };
    const what = `seed ${seed}: object ${at}`;
    if (!isThere) {
      isThere = (await comparison.ask(`${what} created`, "POST", path, () => body)) === 201;
      continue;
    }
    const versions = (await comparison.each("GET", `${path}/w`)).map((answer) => answer.body["metadata"] as Json);
    const next = (server: number): Json => ({
      ...body,
      metadata: { name: "w", labels: { at: String(at) }, resourceVersion: versions[server]!["resourceVersion"] },
    });
    await comparison.ask(`${what} replaced`, "PUT", `${path}/w`, next);
  }
}

const { values } = readCommandLine(usage, {
  rules: { type: "boolean" },
  webhooks: { type: "boolean" },
  record: { type: "string" },
  only: { type: "string" },
  ours: { type: "string" },
  reference: { type: "string" },
  seed: { type: "string" },
  runs: { type: "string" },
  differences: { type: "string" },
  verbose: { type: "boolean", short: "v" },
});
if ((values.rules === true) === (values.webhooks === true)) {
  process.stderr.write("say what to compare: --rules or --webhooks; --help prints what there is\n");
  process.exit(2);
}
const servers = [readServer("ours", values.ours), readServer("reference", values.reference)];
const first = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
const runs = Number(values.runs ?? 50);
const differencesMax = Number(values.differences ?? 10);

async function rules(): Promise<number> {
  const comparison = new Comparison(servers);
  let cases = 0;
  for (let seed = first; seed < first + runs && comparison.differing < differencesMax; seed++) {
    await compareRules(comparison, ruleCase(seed), seed);
    cases++;
    if (values.verbose === true) process.stdout.write(`seed ${seed}: ${comparison.compared} answers compared\n`);
  }
  const { compared, differing } = comparison;
  process.stdout.write(`${cases} cases from seed ${first}, ${compared} answers compared, ${differing} differ\n`);
  return differing;
}

const differing =
  values.rules === true
    ? await rules()
    : await compareWebhooks(servers, { ...values, first, runs, differencesMax, isFixed: values.seed === undefined });
for (const { agent } of servers) agent.destroy();
process.exitCode = differing === 0 ? 0 : 1;
