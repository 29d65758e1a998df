/**
 * `npm run differ -- --webhooks`: runs the cases of `test/webhooks/` and random ones against both servers, with one
 * webhook server for both. Compares all answers to clients and all requests to webhooks.
 */
import { writeFileSync } from "node:fs";
import type { Agent } from "node:https";
import { Client } from "../../test/client.ts";
import { webhookCases } from "../../test/webhooks/cases.ts";
import { webhookCase } from "./webhook-cases.ts";
import { type Case, type Line, Session } from "../../test/webhooks/session.ts";
import { WebhookServer } from "../../test/webhook-server.ts";

interface WebhooksOptions {
  /** The number of the first random case, and the number of random cases. */
  readonly first: number;
  readonly runs: number;
  readonly differencesMax: number;
  /** Whether the cases of `test/webhooks/` run too. */
  readonly isFixed: boolean;
  readonly record?: string | undefined;
  readonly only?: string | undefined;
  readonly verbose?: boolean | undefined;
}

interface Server {
  readonly name: string;
  readonly url: URL;
  readonly token: string;
  readonly agent: Agent;
}

/** Returns the number of different lines. The first server is ours, the second the reference. */
export async function compareWebhooks(servers: readonly Server[], options: WebhooksOptions): Promise<number> {
  const { first, runs, differencesMax, isFixed, record, only = "", verbose } = options;
  const clients = servers.map(({ name, url, token, agent }) => {
    const endpoint = {
      host: url.hostname,
      port: Number(url.port),
      agent,
      rename: (text: string) => text,
      tokens: { admin: token },
    };
    return { name, client: new Client(endpoint) };
  });
  const webhooks = await WebhookServer.open();
  const recorded: Record<string, readonly string[]> = {};
  let [lines, differing, cases] = [0, 0, 0];
  const compare = async (one: Case): Promise<void> => {
    const runCase = (): Promise<CaseDifference> =>
      compareCase(one, clients, webhooks, `x${Math.random().toString(36).slice(2, 8)}`);
    let result = await runCase();
    // The case runs again, since a server whose caches are behind calls webhooks twice.
    if (result.differences.length > 0) result = await runCase();
    cases++;
    lines += result.lines;
    differing += result.differences.length;
    if (webhookCases.includes(one)) recorded[one.name] = result.records[1]!.map(({ brief }) => brief);
    for (const text of result.differences) process.stdout.write(`${text}\n\n`);
    if (verbose === true) process.stdout.write(`${one.name}: ${result.lines} lines compared\n`);
  };
  for (const one of isFixed ? webhookCases.filter(({ name }) => name.includes(only)) : []) await compare(one);
  for (let seed = first; only === "" && seed < first + runs && differing < differencesMax; seed++) {
    await compare(webhookCase(seed));
  }
  if (record !== undefined) writeFileSync(record, `${JSON.stringify(recorded, undefined, 2)}\n`);
  await webhooks.close();
  process.stdout.write(`${cases} cases, ${lines} requests and questions compared, ${differing} differ\n`);
  return differing;
}

/** The results of a case on two servers, which ran it one after the other. */
interface CaseDifference {
  readonly lines: number;
  /** A description of each different line. */
  readonly differences: readonly string[];
  /** The lines of each server, in order. */
  readonly records: readonly (readonly Line[])[];
}

/** Runs a case on each server; `name` is the name of a server. */
async function compareCase(
  { name, run }: Case,
  clients: readonly { readonly name: string; readonly client: Client }[],
  webhooks: WebhookServer,
  id: string,
): Promise<CaseDifference> {
  const records: (readonly Line[])[] = [];
  for (const { name: side, client } of clients) {
    const session = await Session.open(client, webhooks, { run: id, side });
    try {
      await run(session);
    } catch (error) {
      session.note(`ended with ${String(error)}`);
      process.stdout.write(`${name} at ${side}: ${String(error)}\n`);
    } finally {
      await session.close();
    }
    records.push(session.lines);
  }
  const [one = [], other = []] = records.map(groupLines);
  const differences: string[] = [];
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const [a = [], b = []] = [one[at], other[at]];
    for (let line = 0; line < Math.max(a.length, b.length); line++) {
      const pair = [a[line], b[line]];
      if (pair[0]?.brief === pair[1]?.brief && pair[0]?.whole === pair[1]?.whole) continue;
      const texts = clients.map((side, index) => `--- ${side.name}\n${formatLine(pair[index], pair[1 - index])}`);
      differences.push([`${name}: ${(a[0] ?? b[0])!.brief.slice(0, 120)}`, ...texts].join("\n"));
    }
  }
  return { lines: records[1]!.length, differences, records };
}

/** Groups each request with the calls of webhooks that belong to it. */
function groupLines(lines: readonly Line[]): readonly (readonly Line[])[] {
  const groups: Line[][] = [];
  for (const line of lines) {
    if (line.brief.startsWith("  ")) groups.at(-1)?.push(line);
    else groups.push([line]);
  }
  return groups;
}

/** Returns the line, with those details that the other line does not have. */
function formatLine(line: Line | undefined, other: Line | undefined): string {
  if (line === undefined) return "(nothing)";
  if (other === undefined) return line.brief;
  const otherLines = new Set(other.whole.split("\n"));
  const only = line.whole.split("\n").filter((text) => !otherLines.has(text));
  return [line.brief, ...only.slice(0, 40)].join("\n");
}
