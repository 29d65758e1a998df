/**
 * Floods of bad tokens of all kinds from another process, as many at a time as the server accepts: each is refused,
 * memory stays bounded, and requests with good tokens, known or new, are answered meanwhile. `npm run bench -- access`
 * measures the time of the answers.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { badTokens, type Flood, floodAside } from "../../bench/flood.ts";
import { type Api, domains } from "../harness.ts";
import { spawnServer } from "../process.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const megabyte = 1024 * 1024;

/** Creates a service account, and returns a function that makes its tokens. */
async function robot(api: Api): Promise<() => Promise<string>> {
  const accounts = (await api.createNamespace()).configMaps.replace(/configmaps$/, "serviceaccounts");
  (await api.post(accounts, { metadata: { name: "robot" } })).expect(201);
  return async () => (await api.post(`${accounts}/robot/token`, { spec: {} })).expect(201).string("status.token");
}

/** Sends requests one after the other, and returns the number of answers. Every tenth request has a new token. */
async function goodRequests(api: Api, token: () => Promise<string>, isOver: () => boolean): Promise<number> {
  const known = await token();
  let count = 0;
  for (; !isOver(); count++) {
    const shown = count % 10 === 9 ? await token() : known;
    (await api.get("/version", { headers: { authorization: `Bearer ${shown}` } })).expect(200);
  }
  return count;
}

for (const domain of domains) {
  test(`${domain}: floods of bad tokens are refused, take bounded memory and leave room for good ones`, {
    skip,
  }, async (t) => {
    const server = await spawnServer({ domain });
    const { api } = server;
    try {
      const token = await robot(api);
      const { host, port } = api.endpoint;
      const flood: Omit<Flood, "kind"> = {
        host,
        port,
        ca: api.server.ca,
        good: await token(),
        rate: 0,
        seconds: 0,
        count: 5000,
      };
      const memory: number[] = [];
      for (const kind of ["forged", ...badTokens] as const) {
        let isOver = false;
        const flooding = floodAside({ ...flood, kind }).finally(() => {
          isOver = true;
        });
        const good = await goodRequests(api, token, () => isOver);
        const { answers } = await flooding;
        memory.push((await server.memoryBytes()) / megabyte);
        t.diagnostic(`${kind}: ${good} good ones, ${Math.round(memory.at(-1)!)} MB`);
        assert.deepEqual(answers, { 401: flood.count }, kind);
        // Sixteen connections have 32 waiting requests each. If all of them were handled before a good request, there
        // would be fewer good answers.
        assert.ok(good >= 5, `${kind}: ${good} good requests beside ${answers["401"]} bad ones`);
      }
      const [first = 0, ...later] = memory;
      for (const one of later) assert.ok(one < first + 150, `${memory.map(Math.round).join(", ")} MB`);
    } finally {
      api.close();
      await server.stop("SIGKILL");
    }
  });
}
