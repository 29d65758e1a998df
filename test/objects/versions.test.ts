/** `resourceVersion` and `resourceVersionMatch` of get and list: every cell of the specification's table. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Api,
  domains,
  eventually,
  gated,
  type Observed,
  suite,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { claim, configMap, namespace, namespacePaths } from "../objects.ts";
import { present } from "../view.ts";

const inBothDomains = suite();
const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

const later = "99999999999";

/**
 * Creates a collection with claims `a` and `b`. Returns the version at which only `a` existed, and the version of the
 * write of `b`.
 */
async function twoVersions(api: Api): Promise<{ claims: string; old: string; recent: string }> {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("a"))).expect(201);
  const old = (await api.get(claims)).string("metadata.resourceVersion");
  const recent = (await api.post(claims, claim("b"))).expect(201).string("metadata.resourceVersion");
  return { claims, old, recent };
}

inBothDomains("every version that was given out is taken back [SEM-01]", async (api) => {
  const { claims, old, recent } = await twoVersions(api);
  for (const version of [old, recent, (await api.get(claims)).string("metadata.resourceVersion")]) {
    (await api.get(`${claims}?resourceVersion=${version}`)).expect(200);
    (await api.get(`${claims}/a?resourceVersion=${version}`)).expect(200);
    (await api.watch(`${claims}?resourceVersion=${version}`)).close();
  }
});

inBothDomains("a get without a version sees every write before it [SEM-02]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { v: "0" }))).expect(201);
  for (let i = 1; i <= 20; i++) {
    (await api.patch(`${configMaps}/m1`, { data: { v: String(i) } })).expect(200);
    (await api.get(`${configMaps}/m1`)).expect(200, { "data.v": String(i) });
  }
});

inBothDomains("a get at version 0 takes any version, one at a version nothing older [SEM-03] [SEM-04]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { v: "0" }))).expect(201);
  const version = (await api.patch(`${configMaps}/m1`, { data: { v: "1" } })).string("metadata.resourceVersion");
  (await api.get(`${configMaps}/m1?resourceVersion=0`)).expect(200, { "metadata.name": "m1" });
  (await api.get(`${configMaps}/m1?resourceVersion=${version}`)).expect(200, { "data.v": "1" });
});

inBothDomains(
  "a version that is no number is refused [QP-08]",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    (await api.post(configMaps, configMap("m1"))).expect(201);
    for (const version of ["abc", "-1", "1.5", "0x1", "99999999999999999999999"]) {
      (await api.get(`${configMaps}/m1?resourceVersion=${version}`)).expectClientError();
      (await api.get(`${configMaps}?resourceVersion=${version}`)).expectClientError();
      (await api.get(`${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=${version}`)).expectClientError();
    }
  },
  { differs: "1.32 answers 500 to some" },
);

inBothDomains(
  "a list without a version sees every write before it, with a limit too [SEM-05] [SEM-08]",
  async (api) => {
    const { claims } = await api.createNamespace();
    for (let i = 0; i < 10; i++) {
      (await api.post(claims, claim(`c${i}`))).expect(201);
      (await api.get(claims)).expect(200, { "items.length": i + 1 });
      (await api.get(`${claims}?limit=500`)).expect(200, { "items.length": i + 1 });
    }
  },
);

inBothDomains("a list at version 0 takes any version, with a limit too [SEM-06] [SEM-09]", async (api) => {
  const { claims } = await twoVersions(api);
  (await api.get(`${claims}?resourceVersion=0`)).expect(200, { kind: "PersistentVolumeClaimList" });
  (await api.get(`${claims}?limit=1&resourceVersion=0`)).expect(200, {
    items: (items: unknown) => Array.isArray(items) && (items.length === 1 || items.length === 2),
  });
});

inBothDomains("a list at a version shows nothing older [SEM-07] [SEM-21]", async (api) => {
  const { claims, recent } = await twoVersions(api);
  const list = (await api.get(`${claims}?resourceVersion=${recent}`)).expect(200, { "items.length": 2 });
  assert.ok(Number(list.string("metadata.resourceVersion")) >= Number(recent));
  list.has({ "items.0.metadata.resourceVersion": (value: unknown) => Number(value) < Number(recent) });
});

inBothDomains("a list with a limit at a version shows exactly that version [SEM-10]", async (api) => {
  const { claims, old } = await twoVersions(api);
  const list = (await api.get(`${claims}?limit=10&resourceVersion=${old}`)).expect(200, {
    "metadata.resourceVersion": old,
  });
  assert.deepEqual(list.names(), ["a"]);
});

inBothDomains("a token goes with version 0, and with no other [SEM-12] [SEM-13]", async (api) => {
  const { claims, old } = await twoVersions(api);
  const first = (await api.get(`${claims}?limit=1`)).expect(200);
  const next = `${claims}?limit=1&continue=${encodeURIComponent(first.string("metadata.continue"))}`;
  const plain = (await api.get(next)).expect(200);
  const zero = (await api.get(`${next}&resourceVersion=0`)).expect(200);
  assert.deepEqual(zero.value, plain.value);
  assert.deepEqual(plain.names(), ["b"]);
  (await api.get(`${next}&resourceVersion=${old}`)).expectFailure(
    400,
    "BadRequest",
    "specifying resource version is not allowed when using continue",
  );
});

inBothDomains(
  "a match without a version, and an exact match of version 0, are refused [SEM-14] [SEM-15] [SEM-17]",
  async (api) => {
    const { claims } = await twoVersions(api);
    for (const query of [
      "resourceVersionMatch=Exact",
      "resourceVersionMatch=Exact&limit=1",
      "resourceVersionMatch=NotOlderThan",
      "resourceVersionMatch=NotOlderThan&limit=1",
      "resourceVersionMatch=Exact&resourceVersion=0",
      "resourceVersionMatch=Exact&resourceVersion=0&limit=1",
    ]) {
      (await api.get(`${claims}?${query}`)).expectFailure(400, "BadRequest", /resourceVersionMatch/);
    }
  },
  { differs: "the specification says 400, 1.32 answers 422" },
);

inBothDomains("an exact match shows the version asked for [SEM-16] [SEM-25]", async (api) => {
  const { claims, old } = await twoVersions(api);
  for (const limit of ["", "&limit=1", "&limit=5"]) {
    const list = await api.get(`${claims}?resourceVersionMatch=Exact&resourceVersion=${old}${limit}`);
    list.expect(200, { "metadata.resourceVersion": old });
    assert.deepEqual(list.names(), ["a"]);
  }
});

inBothDomains("an old version shows objects as they were, and those deleted since [SEM-16]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a", { v: "1" }))).expect(201);
  (await api.post(configMaps, configMap("b", { v: "1" }))).expect(201);
  const version = (await api.get(configMaps)).string("metadata.resourceVersion");
  (await api.patch(`${configMaps}/a`, { data: { v: "2" } })).expect(200);
  (await api.delete(`${configMaps}/b`)).expect(200);
  (await api.post(configMaps, configMap("c"))).expect(201);
  const list = await api.get(`${configMaps}?resourceVersionMatch=Exact&resourceVersion=${version}`);
  list.expect(200, { "items.0.data.v": "1", "items.1.data.v": "1" });
  assert.deepEqual(list.names(), ["a", "b"]);
});

inBothDomains(
  "a match of nothing older takes version 0 and any other [SEM-18] [SEM-19] [SEM-23] [SEM-24]",
  async (api) => {
    const { claims, recent } = await twoVersions(api);
    (await api.get(`${claims}?resourceVersionMatch=NotOlderThan&resourceVersion=0`)).expect(200);
    for (const limit of ["", "&limit=500"]) {
      (await api.get(`${claims}?resourceVersionMatch=NotOlderThan&resourceVersion=${recent}${limit}`)).expect(200, {
        "items.length": 2,
      });
    }
  },
);

inBothDomains(
  "a match does not go with a token [SEM-20]",
  async (api) => {
    const { claims, old } = await twoVersions(api);
    const first = (await api.get(`${claims}?limit=1`)).expect(200);
    const next = `${claims}?limit=1&continue=${encodeURIComponent(first.string("metadata.continue"))}`;
    for (const match of ["Exact", "NotOlderThan"]) {
      for (const version of ["", "0", old]) {
        (await api.get(`${next}&resourceVersionMatch=${match}&resourceVersion=${version}`)).expectFailure(
          400,
          "BadRequest",
        );
      }
    }
  },
  { differs: "the specification says 400, 1.32 answers 422 for some" },
);

inBothDomains("an unknown match is refused [QP-09]", async (api) => {
  const { claims, old } = await twoVersions(api);
  (await api.get(`${claims}?resourceVersion=${old}&resourceVersionMatch=Foo`)).expectClientError(
    /resourceVersionMatch/,
  );
  (await api.get(`${claims}?resourceVersionMatch=Foo`)).expectClientError(/resourceVersionMatch/);
});

describe("versions that are not there yet", { concurrency: true }, () => {
  inBothDomains("are waited for a moment and then answered with 504 [SEM-45] [SEM-46] [SEM-47]", async (api) => {
    const { claims } = await twoVersions(api);
    const paths = [
      `${claims}?resourceVersion=${later}`,
      `${claims}/a?resourceVersion=${later}`,
      `${claims}?resourceVersion=${later}&resourceVersionMatch=NotOlderThan`,
    ];
    for (const answer of await Promise.all(paths.map((path) => api.get(path)))) {
      answer.expectFailure(504, "Timeout", /Too large resource version: 99999999999, current: \d+/, {
        "details.causes.0.reason": "ResourceVersionTooLarge",
        "details.causes.0.message": "Too large resource version",
        "details.retryAfterSeconds": 1,
      });
      assert.equal(answer.headers["retry-after"], "1");
    }
  });

  inBothDomains("hold a watch open until its time is over [SEM-48]", async (api) => {
    const { claims } = await twoVersions(api);
    const stream = await api.watch(`${claims}?resourceVersion=${later}&timeoutSeconds=3`);
    const events = await stream.rest();
    assert.deepEqual(events.filter((event) => event.type !== "ERROR" && event.type !== "BOOKMARK").length, 0);
  });
});

/** The maximum time that a read waits for a version, in milliseconds. */
const waitMs = 3000;

for (const domain of domains) {
  test(`${domain}: versions that are not there yet are served as soon as they are there [SEM-45]`, {
    skip,
  }, async () => {
    const use = async ({ api, clock }: Observed): Promise<void> => {
      const { claims, recent } = await twoVersions(api);
      // The server itself also writes while it starts, but less.
      const wanted = Number(recent) + 400;
      const waiting = api.get(`${claims}?resourceVersion=${wanted}`);
      const { configMaps } = namespacePaths(claims.split("/")[4]!);
      await clock.untilWaiting(waitMs);
      (await api.post(configMaps, configMap("m"))).expect(201);
      for (let i = 0; i < 400; i++) (await api.patch(`${configMaps}/m`, { data: { i: String(i) } })).expect(200);
      const list = (await waiting).expect(200, { "items.length": 2 });
      assert.ok(Number(list.string("metadata.resourceVersion")) >= wanted);
    };
    await usingObserved(domain, { controllers: ["-*"] }, use, new MovingClock(waitMs));
  });
}

const shortHistory = { ...gated, historyDurationMs: 200, compactionIntervalMs: 100 };

withOwnServer(
  "a version that left the history is answered with 410 [SEM-22] [SEM-43] [LIMIT-01]",
  shortHistory,
  async (api) => {
    (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
    const { configMaps } = namespacePaths("n1");
    for (const name of ["a", "b", "c"]) (await api.post(configMaps, configMap(name))).expect(201);
    const first = (await api.get(`${configMaps}?limit=1`)).expect(200);
    const old = first.string("metadata.resourceVersion");
    const next = `${configMaps}?limit=1&continue=${encodeURIComponent(first.string("metadata.continue"))}`;
    (await api.get(next)).expect(200);
    let writes = 0;
    const expired = await eventually(async () => {
      (await api.patch(`${configMaps}/c`, { data: { n: String(++writes) } })).expect(200);
      return (await api.get(`${configMaps}?resourceVersionMatch=Exact&resourceVersion=${old}`)).expectFailure(
        410,
        "Expired",
      );
    });
    expired.has({ message: "The resourceVersion for the provided list is too old." });
    const answer = (await api.get(next)).expectFailure(410, "Expired", /continue/, { "metadata.continue": present });
    const inconsistent = await api.get(
      `${configMaps}?limit=5&continue=${encodeURIComponent(answer.string("metadata.continue"))}`,
    );
    assert.deepEqual(inconsistent.expect(200).names(), ["b", "c"]);
  },
);
