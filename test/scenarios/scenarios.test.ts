/** Runs the scenarios of this folder against a server of each domain, over HTTPS. README.md explains the format. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { patchTypes, type WatchStream } from "../client.ts";
import { type Api, eventually, gated, ownObjectsOnly, suite, tokenLines } from "../harness.ts";
import type { Fields } from "../view.ts";
import { type EventsStep, parseScenarios, readScenarios, type RequestStep, type Scenario } from "./scenario.ts";
import { readSkips, reasonFor } from "./skips.ts";

const inBothDomains = suite({
  ...gated,
  enableBootstrapTokenAuth: true,
  controllers: [...ownObjectsOnly, "bootstrapsigner"],
});

const users = tokenLines.map((line) => line.split(",")[1]!);

type Variables = Map<string, string>;

/** Replaces `${name}` in every text of a value, including keys and expressions. */
function fillAll(value: unknown, variables: Variables): unknown {
  const fill = (text: string, quote: (value: string) => string = (plain) => plain): string =>
    text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
      const variable = variables.get(name);
      assert.ok(variable !== undefined, `nothing is saved as ${name}`);
      return quote(variable);
    });
  if (typeof value === "string") return fill(value);
  if (value instanceof RegExp) {
    return new RegExp(fill(value.source, (plain) => plain.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)));
  }
  if (Array.isArray(value)) return value.map((item) => fillAll(item, variables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [fill(key), fillAll(item, variables)]));
}

/** Returns the credentials of a user's requests: the user's token, or the administrator's with impersonation. */
function identity({ as: user = "admin", token, headers = {} }: Pick<RequestStep, "as" | "token" | "headers">) {
  if (token !== undefined) return { as: token, headers };
  if (user === "nobody" || users.includes(user)) return { as: user, headers };
  return { as: "admin", headers: { "impersonate-user": user, ...headers } };
}

const isPatchType = (type: string): type is keyof typeof patchTypes => Object.hasOwn(patchTypes, type);

async function ask(api: Api, step: RequestStep, variables: Variables): Promise<void> {
  const [method, path] = step.do.split(/ (.*)/s) as [string, string]; // the reader of files saw a blank
  const type = step.type ?? (method === "PATCH" ? "merge" : "application/json");
  const options = { ...identity(step), type: isPatchType(type) ? patchTypes[type] : type };
  const answer = await api.send(method, path, step.body, options);
  answer.expect(step.status, step.has);
  if (step.warnings !== undefined)
    assert.deepEqual(answer.warnings, step.warnings.map(api.endpoint.rename), answer.title);
  for (const [name, from] of Object.entries(step.save ?? {})) variables.set(name, String(answer.at(from)));
}

async function check({ events }: EventsStep, stream: WatchStream | undefined): Promise<void> {
  assert.ok(stream !== undefined, "there is no watch");
  for (const fields of events) (await stream.next()).has(fields);
}

async function run(api: Api, scenario: Scenario): Promise<void> {
  const variables: Variables = new Map([["unique", api.unique("u")]]);
  if (JSON.stringify(scenario).includes("${ns}")) variables.set("ns", (await api.createNamespace()).ns);
  let stream: WatchStream | undefined;
  for (const raw of scenario.steps) {
    const step = fillAll(raw, variables) as typeof raw; // only its texts are others
    if ("events" in step) await check(step, stream);
    else if ("watch" in step) stream = await api.watch(step.watch, identity(step));
    else if (step.eventually === true) await eventually(() => ask(api, step, variables));
    else await ask(api, step, variables);
  }
}

const skips = readSkips();

for (const { path, scenarios } of readScenarios()) {
  for (const scenario of scenarios) {
    const skip = reasonFor(skips, "scenarios", path, scenario.name);
    if (skip === undefined) inBothDomains(`${path}: ${scenario.name}`, (api) => run(api, scenario));
    else test(`${path}: ${scenario.name}`, { skip }, () => undefined);
  }
}

test("every entry of the list of skipped scenarios names a scenario", () => {
  const files = new Map(readScenarios().map(({ path, scenarios }) => [path, scenarios.map(({ name }) => name)]));
  for (const { scenarios = {} } of skips) {
    for (const [path, names] of Object.entries(scenarios)) {
      const entries = files.get(path) ?? [];
      assert.ok(entries.length > 0, path);
      if (names !== "all") for (const name of names) assert.ok(entries.includes(name), name);
    }
  }
});

test("a step that holds nothing fails, and so does a file with a key there is not", async () => {
  const text = (step: string): string => `scenarios: [{name: n, rows: [], steps: [${step}]}]`;
  const expectRefusal = (step: string, message: RegExp): unknown =>
    assert.throws(() => parseScenarios("a/b.yaml", text(step)), { message });
  expectRefusal("{do: GET /x, status: 200, hsa: {}}", /^test\/scenarios\/a\/b\.yaml: n, step 1: unknown key hsa$/);
  expectRefusal("{do: GET, status: 200}", /GET is no method and path/);
  expectRefusal("{do: GET /x}", /no status/);
  expectRefusal("{watch: /x, status: 200}", /unknown key status/);
  expectRefusal("{events: {type: ADDED}}", /is no list/);
  const [scenario] = parseScenarios("a/b.yaml", text("{do: GET /x, status: 200, has: {a: !match '^b', c: !absent }}"));
  const { has } = scenario!.steps[0] as { readonly has: Fields };
  assert.deepEqual(Object.values(has).map(String), ["/^b/", "Symbol(absent)"]);
});
