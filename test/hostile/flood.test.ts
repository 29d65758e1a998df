/**
 * Ten thousand bad tokens of all kinds per second, from another process: each is refused, memory stays bounded, and
 * good tokens, known or new, are hardly slower. The bounds are wide for slow machines; `npm run bench -- access` gives
 * figures.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { badTokens, type Flood, floodAside } from "../../bench/flood.ts";
import { type Api, domains } from "../harness.ts";
import { spawnServer } from "../process.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const megabyte = 1024 * 1024;
const perSecond = 10_000;

/** Makes tokens of one service account. */
async function robot(api: Api): Promise<() => Promise<string>> {
  const accounts = (await api.place()).configMaps.replace(/configmaps$/, "serviceaccounts");
  (await api.post(accounts, { metadata: { name: "robot" } })).expect(201);
  return async () => (await api.post(`${accounts}/robot/token`, { spec: {} })).expect(201).string("status.token");
}

/** Times of requests one after the other, milliseconds in ascending order; every tenth shows a token for the first time. */
async function goodRequests(api: Api, token: () => Promise<string>, isOver: () => boolean): Promise<number[]> {
  const known = await token();
  const times: number[] = [];
  for (let count = 0; !isOver(); count++) {
    const shown = count % 10 === 9 ? await token() : known;
    const startedMs = performance.now();
    (await api.get("/version", { headers: { authorization: `Bearer ${shown}` } })).expect(200);
    times.push(performance.now() - startedMs);
  }
  return times.sort((a, b) => a - b);
}

const at = (times: readonly number[], part: number): number => times[Math.floor(times.length * part)]!;

for (const domain of domains) {
  test(`${domain}: ten thousand bad tokens a second are refused, take bounded memory and slow good ones little`, {
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
        rate: perSecond,
        seconds: 1.5,
      };
      let rounds = 0;
      const quiet = await goodRequests(api, token, () => ++rounds > 200);
      const memory: number[] = [];
      for (const kind of ["forged", ...badTokens] as const) {
        let isOver = false;
        const flooding = floodAside({ ...flood, kind }).finally(() => {
          isOver = true;
        });
        const times = await goodRequests(api, token, () => isOver);
        const { answers, rate } = await flooding;
        memory.push((await server.memoryBytes()) / megabyte);
        t.diagnostic(
          `${kind}: ${Math.round(rate)}/s, good ones ${at(times, 0.5).toFixed(1)} ms, 99 of 100 ${at(times, 0.99).toFixed(1)} ms ` +
            `(quiet ${at(quiet, 0.5).toFixed(1)} and ${at(quiet, 0.99).toFixed(1)}), ${Math.round(memory.at(-1)!)} MB`,
        );
        assert.deepEqual(Object.keys(answers), ["401"], kind);
        // A machine that is busy with other things does not get through as many.
        assert.ok(rate > perSecond / 20, `${kind}: ${rate}/s is no flood`);
        assert.ok(
          at(times, 0.5) < 50 + 10 * at(quiet, 0.5),
          `${kind}: ${at(times, 0.5)} ms, without ${at(quiet, 0.5)}`,
        );
        assert.ok(at(times, 0.99) < 1000, `${kind}: ${at(times, 0.99)} ms`);
      }
      const [first = 0, ...later] = memory;
      for (const one of later) assert.ok(one < first + 150, `${memory.map(Math.round).join(", ")} MB`);
    } finally {
      api.close();
      await server.stop("SIGKILL");
    }
  });
}
