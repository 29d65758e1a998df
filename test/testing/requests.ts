/** Requests to test servers as their users make them, with `fetch`. */
import assert from "node:assert/strict";
import type { TestServer } from "#testing/test-server.ts";

/** An object of the API, or a list. */
interface Answer {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly uid: string };
  readonly items: readonly Answer[];
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: unknown;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes a request, and checks the code of the answer. `what` is `METHOD /path`. */
export async function ask(
  server: TestServer,
  what: string,
  code: number,
  { body, headers = {} }: Asked = {},
): Promise<Answer> {
  const [method = "", path = ""] = what.split(" ");
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const answer = await server.fetch(path, {
    method,
    headers: { "content-type": type, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.equal(answer.status, code, `${what}: ${text}`);
  return JSON.parse(text) as Answer; // what the path answers
}

export const namesOf = ({ items }: Answer): string[] => items.map(({ metadata }) => metadata.name);

interface Watching {
  /** The events so far, as `TYPE name`. */
  readonly events: string[];
  /** Resolves with the error, or with `undefined` at a proper end. */
  readonly ended: Promise<unknown>;
  stop(): void;
}

/** Watches a collection from a version on. Bookmarks are left out. */
export async function watch(server: TestServer, path: string, resourceVersion: string): Promise<Watching> {
  const stop = new AbortController();
  const answer = await server.fetch(`${path}?watch=true&resourceVersion=${resourceVersion}`, { signal: stop.signal });
  assert.equal(answer.status, 200);
  const events: string[] = [];
  const read = async (): Promise<unknown> => {
    let rest = "";
    try {
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const { type, object } = JSON.parse(line) as { type: string; object: Answer & { code?: number } };
          events.push(`${type} ${type === "ERROR" ? object.code : object.metadata.name}`);
        }
      }
      return undefined;
    } catch (error) {
      return error;
    }
  };
  return { events, ended: read(), stop: () => stop.abort() };
}
