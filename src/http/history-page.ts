/** Pages of a history: their parameters and their form. */
import { badRequest } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import type { Revision } from "#storage/log-store.ts";
import type { KeyVersions } from "#storage/watch-cache.ts";
import type { Reply } from "./api-request.ts";

const limitDefault = 50;
const limitMax = 500;

interface HistoryPage extends Pick<KeyVersions, "since" | "sinceMs" | "next"> {
  /** The items as JSON. */
  readonly items: readonly string[];
  /** The revision that readers see now. */
  readonly revision: Revision;
}

/** Answers with a page. */
export function historyReply(
  kind: "ObjectHistory" | "CollectionHistory",
  { items, revision, next, since, sinceMs }: HistoryPage,
): Reply {
  const metadata = {
    resourceVersion: String(revision),
    ...(next === 0 ? {} : { continue: Buffer.from(`v1:${next}`).toString("base64url") }),
  };
  const start = {
    resourceVersion: String(since),
    ...(sinceMs === undefined ? {} : { time: timestampOf(sinceMs) }),
  };
  const head = `{"kind":"${kind}","apiVersion":"binnacle/v1","metadata":${JSON.stringify(metadata)},"since":${JSON.stringify(start)}`;
  return {
    code: 200,
    contentType: "application/json",
    compressible: true,
    bytes: Buffer.from(`${head},"items":[${items.join(",")}]}\n`),
  };
}

/** Reads the parameter `limit`. Throws `badRequest`. */
export function limitOf(text: string): number {
  if (text === "") return limitDefault;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw badRequest(`limit: ${JSON.stringify(text)} must be a number from 1 on`);
  return Math.min(limit, limitMax);
}

/** Reads the parameter `continue`: the revision before which the page begins. Throws `badRequest`. */
export function startOf(token: string): Revision | undefined {
  if (token === "") return undefined;
  const match = /^v1:(\d{1,15})$/.exec(Buffer.from(token, "base64url").toString());
  if (match === null) throw badRequest("the continue parameter is not one that this server gave");
  return Number(match[1]);
}
