/** Watches: events, start, bookmarks, streaming lists, selectors, resumption, and the end of history. */
import assert from "node:assert/strict";
import https from "node:https";
import { describe } from "node:test";
import { asTable, type WatchEvent } from "../client.ts";
import { type Api, eventually, gated, suite, withOwnServer } from "../harness.ts";
import { attributesClass, attributesClasses, claim, configMap, namespace, namespacePaths } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

/** Creates a collection of config maps with some objects. Returns its version at that time. */
async function startWatch(
  api: Api,
  names: readonly string[] = [],
): Promise<{ maps: string; version: string; ns: string }> {
  const { configMaps: maps, ns } = await api.createNamespace();
  for (const name of names) (await api.post(maps, configMap(name, { v: "1" }))).expect(201);
  const version = (await api.get(maps)).string("metadata.resourceVersion");
  return { maps, version, ns };
}

const describeEvents = (events: readonly WatchEvent[]): string[] =>
  events.map((event) => `${event.type} ${event.name}`);

inBothDomains("an event is a type and an object, nothing else [WATCH-01]", async (api) => {
  const { maps, version } = await startWatch(api);
  const stream = await api.watch(`${maps}?resourceVersion=${version}`);
  (await api.post(maps, configMap("a"))).expect(201);
  (await api.delete(`${maps}/a`)).expect(200);
  for (const event of await stream.take(2)) {
    assert.deepEqual(Object.keys(event.value as object).sort(), ["object", "type"]);
  }
});

inBothDomains(
  "what is created, changed and deleted is told as ADDED, MODIFIED and DELETED [WATCH-02] [WATCH-03] [WATCH-04] [WATCH-07]",
  async (api) => {
    const { claims } = await api.createNamespace();
    const version = (await api.get(claims)).string("metadata.resourceVersion");
    const stream = await api.watch(`${claims}?resourceVersion=${version}`);
    const answer = (await api.post(claims, claim("c1"))).expect(201);
    const added = (await stream.next()).has({ type: "ADDED" });
    assert.deepEqual(added.at("object"), answer.value);
    const response = (await api.patch(`${claims}/c1`, { metadata: { labels: { a: "1" }, finalizers: null } })).expect(
      200,
    );
    const modified = (await stream.next()).has({ type: "MODIFIED", "object.metadata.labels": { a: "1" } });
    assert.deepEqual(modified.at("object"), response.value);
    assert.notEqual(modified.version, added.version);
    (await api.delete(`${claims}/c1`)).expect(200);
    const deleted = (await stream.until((event) => event.type === "DELETED")).at(-1)!;
    deleted.has({
      "object.kind": "PersistentVolumeClaim",
      "object.apiVersion": "v1",
      "object.metadata.name": "c1",
      "object.metadata.labels": { a: "1" },
      "object.spec": response.at("spec"),
    });
    assert.ok(Number(deleted.version) > Number(modified.version), "a deletion has a version of its own");
    const next = (await api.post(claims, claim("c2"))).expect(201).string("metadata.resourceVersion");
    assert.ok(Number(deleted.version) < Number(next));
  },
);

inBothDomains("a write that changes nothing sends no event [WATCH-03]", async (api) => {
  const { maps, version } = await startWatch(api, ["a"]);
  const stream = await api.watch(`${maps}?resourceVersion=${version}`);
  const same = await api.get(`${maps}/a`);
  (await api.put(`${maps}/a`, same.value)).expect(200);
  (await api.patch(`${maps}/a`, { data: { v: "1" } })).expect(200);
  (await api.post(maps, configMap("b"))).expect(201);
  assert.deepEqual(describeEvents(await stream.take(1)), ["ADDED b"]);
});

inBothDomains("a bookmark is of the watched kind and holds a version only [WATCH-05] [WATCH-06]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1", {}, { labels: { a: "1" } }))).expect(201);
  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const stream = await api.watch(`${claims}?${query}`);
  const bookmark = (await stream.until((event) => event.type === "BOOKMARK")).at(-1)!;
  bookmark.has({
    "object.kind": "PersistentVolumeClaim",
    "object.apiVersion": "v1",
    "object.metadata.resourceVersion": /^\d+$/,
    "object.metadata.name": absent,
    "object.metadata.uid": absent,
    "object.metadata.labels": absent,
    "object.metadata.managedFields": absent,
    "object.spec": (value: unknown) => value === undefined || !("accessModes" in (value as object)),
  });
});

inBothDomains(
  "an object that comes to match a selector is ADDED, one that ceases to is DELETED [WATCH-09]",
  async (api) => {
    const { maps } = await startWatch(api);
    (await api.post(maps, configMap("m", {}, { labels: { a: "1" } }))).expect(201);
    const version = (await api.get(maps)).string("metadata.resourceVersion");
    const stream = await api.watch(`${maps}?resourceVersion=${version}&labelSelector=a%3D1`);
    (await api.patch(`${maps}/m`, { data: { n: "1" } })).expect(200);
    const answer = (await api.patch(`${maps}/m`, { metadata: { labels: { a: null } }, data: { n: "2" } })).expect(200);
    (await api.patch(`${maps}/m`, { data: { n: "3" } })).expect(200);
    (await api.patch(`${maps}/m`, { metadata: { labels: { a: "1" } }, data: { n: "4" } })).expect(200);
    (await api.delete(`${maps}/m`)).expect(200);
    const events = await stream.take(4);
    assert.deepEqual(describeEvents(events), ["MODIFIED m", "DELETED m", "ADDED m", "DELETED m"]);
    events[1]!.has({
      "object.metadata.labels": { a: "1" },
      "object.data.n": "1",
      "object.metadata.resourceVersion": answer.string("metadata.resourceVersion"),
    });
    events[2]!.has({ "object.data.n": "4", "object.metadata.labels": { a: "1" } });
  },
);

inBothDomains("a watch of one name tells of that object only [WATCH-09] [QP-04]", async (api) => {
  const { maps, version } = await startWatch(api);
  const stream = await api.watch(`${maps}?resourceVersion=${version}&fieldSelector=metadata.name%3Db`);
  for (const name of ["a", "b", "c"]) (await api.post(maps, configMap(name))).expect(201);
  (await api.delete(`${maps}/a`)).expect(200);
  (await api.delete(`${maps}/b`)).expect(200);
  assert.deepEqual(describeEvents(await stream.take(2)), ["ADDED b", "DELETED b"]);
});

inBothDomains("a watch without a version, or at 0, starts with what is there [SEM-26] [SEM-27]", async (api) => {
  const { maps } = await startWatch(api, ["b", "a"]);
  for (const query of ["", "?resourceVersion=", "?resourceVersion=0"]) {
    const stream = await api.watch(`${maps}${query}`);
    const events = await stream.take(2);
    assert.deepEqual(describeEvents(events), ["ADDED a", "ADDED b"]);
    events[0]!.has({ "object.kind": "ConfigMap", "object.apiVersion": "v1", "object.data": { v: "1" } });
    const name = api.unique("live");
    (await api.post(maps, configMap(name))).expect(201);
    assert.deepEqual(describeEvents(await stream.take(1)), [`ADDED ${name}`]);
    (await api.delete(`${maps}/${name}`)).expect(200);
    assert.deepEqual(describeEvents(await stream.take(1)), [`DELETED ${name}`]);
    stream.close();
  }
});

inBothDomains("a watch from a version shows later changes only [SEM-28] [SEM-29] [EVENT-05]", async (api) => {
  const { maps, version } = await startWatch(api, ["a", "b"]);
  (await api.post(maps, configMap("between"))).expect(201);
  (await api.patch(`${maps}/a`, { data: { v: "2" } })).expect(200);
  const stream = await api.watch(`${maps}?resourceVersion=${version}`);
  (await api.post(maps, configMap("live"))).expect(201);
  assert.deepEqual(describeEvents(await stream.take(3)), ["ADDED between", "MODIFIED a", "ADDED live"]);
});

inBothDomains("events come in the order of their versions, each once [SEM-31] [EVENT-08]", async (api) => {
  const { maps, version } = await startWatch(api);
  const stream = await api.watch(`${maps}?resourceVersion=${version}&allowWatchBookmarks=true`);
  const writes = Array.from({ length: 60 }, (_, i) => i);
  await Promise.all(writes.map(async (i) => (await api.post(maps, configMap(`m${i}`))).expect(201)));
  await Promise.all(writes.map(async (i) => (await api.patch(`${maps}/m${i}`, { data: { n: "1" } })).expect(200)));
  const events = await stream.take(120);
  const versions = events.map((event) => Number(event.version));
  assert.deepEqual(
    versions,
    [...new Set(versions)].sort((a, b) => a - b),
  );
  const middle = events[59]!;
  const resumed = await api.watch(`${maps}?resourceVersion=${middle.version}`);
  const rest = await resumed.take(60);
  assert.deepEqual(
    rest.map((event) => event.value),
    events.slice(60).map((event) => event.value),
  );
});

inBothDomains("initial events must be asked for with a match of nothing older [SEM-32]", async (api) => {
  const { maps } = await startWatch(api);
  for (const query of [
    "sendInitialEvents=true",
    "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5",
  ]) {
    (await api.get(`${maps}?watch=true&${query}`)).expectFailure(
      422,
      "Invalid",
      /resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/,
    );
  }
  (await api.get(`${maps}?watch=true&resourceVersionMatch=NotOlderThan`)).expectFailure(
    422,
    "Invalid",
    /resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided/,
  );
});

inBothDomains(
  "a streaming list tells what is there, then a bookmark, then goes on as a watch [SEM-33] [SEM-34] [SEM-36] [SEM-39]",
  async (api) => {
    const { maps } = await startWatch(api, ["a", "b"]);
    const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const stream = await api.watch(`${maps}?${query}`);
    assert.deepEqual(describeEvents(await stream.take(2)), ["ADDED a", "ADDED b"]);
    const bookmark = await stream.next();
    bookmark.has({ type: "BOOKMARK", "object.metadata.annotations[k8s.io/initial-events-end]": "true" });
    (await api.post(maps, configMap("c"))).expect(201);
    const live = await stream.next();
    assert.equal(`${live.type} ${live.name}`, "ADDED c");
    assert.ok(Number(live.version) > Number(bookmark.version));
  },
);

inBothDomains(
  "a streaming list is at least as new as the request, and as the version asked for [SEM-37] [SEM-38]",
  async (api) => {
    const { maps } = await startWatch(api, ["a"]);
    const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    for (let i = 0; i < 5; i++) {
      const answer = (await api.post(maps, configMap(`m${i}`))).expect(201);
      const version = answer.string("metadata.resourceVersion");
      for (const at of ["", "&resourceVersion=", `&resourceVersion=${version}`]) {
        const stream = await api.watch(`${maps}?${query}${at}`);
        const events = await stream.until((event) => event.type === "BOOKMARK");
        assert.ok(
          events.slice(0, -1).some((event) => event.name === `m${i}`),
          `m${i} is missing with "${at}"`,
        );
        assert.ok(Number(events.at(-1)!.version) >= Number(version));
        stream.close();
      }
    }
    const any = await api.watch(`${maps}?${query}&resourceVersion=0`);
    assert.equal((await any.until((event) => event.type === "BOOKMARK")).length, 7);
  },
);

inBothDomains("a streaming list without sendInitialEvents=true starts at its version [SEM-33]", async (api) => {
  const { maps, version } = await startWatch(api, ["a"]);
  const stream = await api.watch(
    `${maps}?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${version}`,
  );
  (await api.post(maps, configMap("b"))).expect(201);
  assert.deepEqual(describeEvents(await stream.take(1)), ["ADDED b"]);
});

inBothDomains("a streaming list obeys selectors [SEM-33] [QP-05]", async (api) => {
  const { maps } = await startWatch(api, ["a"]);
  (await api.post(maps, configMap("b", {}, { labels: { x: "1" } }))).expect(201);
  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=x%3D1";
  const stream = await api.watch(`${maps}?${query}`);
  const events = await stream.until((event) => event.type === "BOOKMARK");
  assert.deepEqual(
    events.map((event) => event.type),
    ["ADDED", "BOOKMARK"],
  );
});

inBothDomains("an event stays in its namespace; a watch of all sees it with its namespace [EVENT-02]", async (api) => {
  const { maps, version } = await startWatch(api);
  const other = await startWatch(api);
  const label = api.unique("l");
  const here = await api.watch(`${maps}?resourceVersion=${version}`);
  const everywhere = await api.watch(`/api/v1/configmaps?resourceVersion=${version}&labelSelector=${label}`);
  (await api.post(other.maps, configMap("there", {}, { labels: { [label]: "1" } }))).expect(201);
  (await api.post(maps, configMap("here", {}, { labels: { [label]: "1" } }))).expect(201);
  assert.deepEqual(describeEvents(await here.take(1)), ["ADDED here"]);
  const both = await everywhere.take(2);
  assert.deepEqual(describeEvents(both), ["ADDED there", "ADDED here"]);
  both[0]!.has({ "object.metadata.namespace": other.ns });
});

inBothDomains("cluster-scoped objects are watched like others [EVENT-02]", async (api) => {
  const name = api.unique("v");
  const version = (await api.get(attributesClasses)).string("metadata.resourceVersion");
  const stream = await api.watch(
    `${attributesClasses}?resourceVersion=${version}&fieldSelector=metadata.name%3D${name}`,
  );
  (await api.post(attributesClasses, attributesClass(name))).expect(201);
  (await api.delete(`${attributesClasses}/${name}`)).expect(200);
  assert.deepEqual(describeEvents(await stream.take(2)), [`ADDED ${name}`, `DELETED ${name}`]);
});

inBothDomains("a watch is the only way to be told [EVENT-01]", async (api) => {
  for (const path of ["/api/v1/callbacks", "/api/v1/subscriptions", "/api/v1/webhooks"]) {
    (await api.get(path)).expect(404);
    (await api.post(path, {})).expect([404, 405]);
  }
});

inBothDomains("the old path of watches works as the parameter does [SEM-28]", async (api) => {
  const { ns, version } = await startWatch(api);
  const { configMaps } = namespacePaths(ns);
  const stream = await api.watch(`/api/v1/watch/namespaces/${ns}/configmaps?resourceVersion=${version}`);
  (await api.post(configMaps, configMap("a"))).expect(201);
  assert.deepEqual(describeEvents(await stream.take(1)), ["ADDED a"]);
});

inBothDomains("a Table in a watch has one row, columns once [TABLE-11]", async (api) => {
  const { maps, version } = await startWatch(api, ["z"]);
  const stream = await api.watch(`${maps}?resourceVersion=${version}`, { accept: asTable });
  (await api.post(maps, configMap("a"))).expect(201);
  (await api.post(maps, configMap("b"))).expect(201);
  const [first, second] = await stream.take(2);
  first!.has({
    type: "ADDED",
    "object.kind": "Table",
    "object.apiVersion": "meta.k8s.io/v1",
    "object.columnDefinitions.0.name": "Name",
    "object.rows.length": 1,
    "object.rows.0.cells.0": "a",
    "object.rows.0.object.kind": "PartialObjectMetadata",
  });
  second!.has({
    "object.rows.0.cells.0": "b",
    "object.columnDefinitions": (value: unknown) => value === undefined || value === null || (value as []).length === 0,
  });
});

inBothDomains("metadata alone can be watched [EVENT-02]", async (api) => {
  const { maps, version } = await startWatch(api);
  const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const stream = await api.watch(`${maps}?resourceVersion=${version}`, { accept });
  (await api.post(maps, configMap("a", { k: "v" }))).expect(201);
  (await stream.next()).has({
    type: "ADDED",
    "object.kind": "PartialObjectMetadata",
    "object.apiVersion": "meta.k8s.io/v1",
    "object.metadata.name": "a",
    "object.data": absent,
  });
});

inBothDomains("several watches share one HTTP/1.1 agent and end when the client goes [EVENT-08]", async (api) => {
  const { maps, version } = await startWatch(api);
  const { host, port, rename, tokens } = api.endpoint;
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
  const open = await Promise.all(
    Array.from({ length: 5 }, () => api.watch(`${maps}?resourceVersion=${version}`, { agent })),
  );
  (await api.post(maps, configMap("a"))).expect(201);
  for (const stream of open) assert.deepEqual(describeEvents(await stream.take(1)), ["ADDED a"]);
  agent.destroy();
  assert.ok(host !== "" && port > 0 && rename("x") === "x" && tokens["admin"] !== undefined);
});

describe("watches that end", { concurrency: true }, () => {
  inBothDomains("bookmarks never come unasked [SEM-30] [QP-02] [SEM-35]", async (api) => {
    const { maps } = await startWatch(api, ["a"]);
    const events = await (await api.watch(`${maps}?timeoutSeconds=1`)).rest();
    assert.deepEqual(describeEvents(events), ["ADDED a"]);
    const list = `${maps}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`;
    assert.deepEqual(describeEvents(await (await api.watch(list)).rest()), ["ADDED a"]);
    const asked = await (await api.watch(`${maps}?allowWatchBookmarks=true&timeoutSeconds=1`)).rest();
    for (const event of asked.slice(1)) assert.equal(event.type, "BOOKMARK");
  });

  inBothDomains("an error is told as ERROR with a Status, then the stream ends [WATCH-08]", async (api) => {
    const { maps } = await startWatch(api);
    const answer = await api.get(`${maps}?watch=true&resourceVersion=1&timeoutSeconds=2`);
    // The history either reaches back far enough, or the only document says that it does not.
    answer.expect([200, 410]);
    if (answer.status === 410) answer.expectFailure(410, "Expired");
    for (const line of answer.status === 200 ? answer.text.split("\n").filter((text) => text !== "") : []) {
      const { type, object } = JSON.parse(line) as { type: string; object: { kind: string; code?: number } };
      if (type === "ERROR") assert.deepEqual([object.kind, object.code], ["Status", 410]);
    }
  });

  inBothDomains("a JSON watch is a series of documents in chunks [EVENT-03]", async (api) => {
    const { maps } = await startWatch(api, ["a", "b"]);
    const stream = await api.watch(`${maps}?timeoutSeconds=1`);
    assert.equal(stream.headers["transfer-encoding"], "chunked");
    assert.equal(stream.headers["content-type"], "application/json");
    assert.equal(stream.headers["content-length"], undefined);
    assert.equal((await stream.rest()).length, 2);
  });

  inBothDomains("a watch ends after timeoutSeconds, cleanly [QP-11]", async (api) => {
    const { maps } = await startWatch(api, ["a"]);
    const events = await (await api.watch(`${maps}?timeoutSeconds=2`)).rest();
    assert.deepEqual(describeEvents(events), ["ADDED a"]);
  });

  inBothDomains("a watch may be asked for that lasts for months [QP-11]", async (api) => {
    const { maps } = await startWatch(api, ["a"]);
    for (const seconds of ["2147484", "99999999999"]) {
      const stream = await api.watch(`${maps}?timeoutSeconds=${seconds}`);
      assert.equal((await stream.next()).name, "a");
      // A timer with too long a delay fires after 1 ms in Node, which is before these.
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 2));
      const name = api.unique("m");
      (await api.post(maps, configMap(name))).expect(201);
      assert.equal((await stream.next()).name, name);
      stream.close();
      (await api.delete(`${maps}/${name}`)).expect(200);
    }
  });

  inBothDomains("a watch that ends leaves a last bookmark that resumes without loss [SEM-31]", async (api) => {
    const { maps } = await startWatch(api, ["a"]);
    const other = await startWatch(api);
    const stream = await api.watch(`${maps}?timeoutSeconds=4&allowWatchBookmarks=true`);
    await stream.next();
    for (let i = 0; i < 5; i++) (await api.post(other.maps, configMap(`m${i}`))).expect(201);
    const bookmarks = await stream.rest();
    for (const event of bookmarks) assert.equal(event.type, "BOOKMARK");
    const from = bookmarks.at(-1)?.version ?? (await api.get(maps)).string("metadata.resourceVersion");
    const resumed = await api.watch(`${maps}?resourceVersion=${from}`);
    (await api.post(maps, configMap("b"))).expect(201);
    assert.deepEqual(describeEvents(await resumed.take(1)), ["ADDED b"]);
  });
});

const shortHistory = { ...gated, historyDurationMs: 200, compactionIntervalMs: 100 };

withOwnServer(
  "a watch from a version that left the history is told 410, and a new list helps [EVENT-06] [EVENT-07] [WATCH-08]",
  shortHistory,
  async (api) => {
    (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
    const { configMaps } = namespacePaths("n1");
    const old = (await api.get(configMaps)).string("metadata.resourceVersion");
    let writes = 0;
    await eventually(async () => {
      (await api.post(configMaps, configMap(`m${++writes}`))).expect(201);
      const answer = await api.get(`${configMaps}?watch=true&resourceVersion=${old}&timeoutSeconds=1`);
      if (answer.status === 410) return void answer.expectFailure(410, "Expired");
      answer.expect(200, {
        type: "ERROR",
        "object.kind": "Status",
        "object.code": 410,
        "object.reason": "Expired",
        "object.message": /too old resource version/,
        "object.status": "Failure",
        "object.metadata": present,
      });
    });
    const fresh = (await api.get(configMaps)).expect(200).string("metadata.resourceVersion");
    const stream = await api.watch(`${configMaps}?resourceVersion=${fresh}`);
    (await api.post(configMaps, configMap("after"))).expect(201);
    assert.deepEqual(describeEvents(await stream.take(1)), ["ADDED after"]);
  },
);

inBothDomains(
  "a watch from any or no version ends its initial events with a bookmark, if bookmarks were asked for [WATCH-05] [SEM-26] [SEM-27] [SEM-34]",
  async (api) => {
    const { maps } = await startWatch(api, ["a"]);
    for (const query of ["", "resourceVersion=0&"]) {
      const stream = await api.watch(`${maps}?${query}allowWatchBookmarks=true`);
      const [added, bookmark] = await stream.take(2);
      added!.has({ type: "ADDED", "object.metadata.name": "a" });
      bookmark!.has({
        type: "BOOKMARK",
        "object.kind": "ConfigMap",
        "object.metadata.annotations[k8s.io/initial-events-end]": "true",
      });
      stream.close();
    }
  },
);

inBothDomains("the bookmark after the initial events carries an empty list of their kind [SEM-34]", async (api) => {
  const { maps } = await startWatch(api);
  const asMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  for (const [accept, kind] of [
    ["application/json", "ConfigMapList"],
    [asMetadata, "PartialObjectMetadataList"],
  ] as const) {
    const stream = await api.watch(`${maps}?allowWatchBookmarks=true`, { accept });
    const bookmark = (await stream.next()).has({ type: "BOOKMARK" });
    const key = "object.metadata.annotations[kubernetes.io/initial-events-list-blueprint]";
    const list = JSON.parse(Buffer.from(bookmark.string(key), "base64").toString()) as Record<string, unknown>;
    assert.deepEqual([list["kind"], list["items"]], [kind, null]);
    stream.close();
  }
});

inBothDomains("initial events that end with a bookmark are no Tables [SEM-34]", async (api) => {
  const { maps } = await startWatch(api, ["a"]);
  const listed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  for (const query of ["allowWatchBookmarks=true", `${listed}&allowWatchBookmarks=true`]) {
    const answer = await api.get(`${maps}?watch=true&${query}`, { accept: asTable });
    answer.expectFailure(406, "NotAcceptable", /only the following media types are accepted: application\/json/);
    const stream = await api.watch(`${maps}?${query}`, { accept: `${asTable},application/json` });
    (await stream.next()).has({ type: "ADDED", "object.kind": "ConfigMap" });
    stream.close();
  }
  const unmarked = await api.watch(`${maps}?${listed}`, { accept: asTable });
  (await unmarked.next()).has({ type: "ADDED", "object.kind": "Table" });
  unmarked.close();
});

inBothDomains("the old paths of watches are watches, of one object too [EP-12] [WATCH-01]", async (api) => {
  const { maps, ns } = await startWatch(api, ["a", "b"]);
  const at = `/api/v1/watch/namespaces/${ns}/configmaps`;
  const all = await api.watch(`${at}?labelSelector=`);
  assert.deepEqual(describeEvents(await all.take(2)), ["ADDED a", "ADDED b"]);
  const single = await api.watch(`${at}/b?fieldSelector=metadata.name%3Db`);
  assert.deepEqual(describeEvents([await single.next()]), ["ADDED b"]);
  const alone = (await api.get(`${at}/b?watch=false&timeoutSeconds=1`)).expect(200);
  assert.equal(alone.text.trimEnd().split("\n").length, 1);
  (await api.get(`${at}/b?fieldSelector=metadata.name%3Da`)).expectFailure(
    400,
    "BadRequest",
    /doesn't match requested name/,
  );
  (await api.post(at, configMap("c"))).expectFailure(405, "MethodNotAllowed");
  (await api.delete(`${at}/b`)).expectFailure(405, "MethodNotAllowed");
  assert.deepEqual((await api.get(maps)).names(), ["a", "b"]);
  const itself = await api.watch(`/api/v1/watch/namespaces/${ns}`);
  (await itself.next()).has({ type: "ADDED", "object.kind": "Namespace", "object.metadata.name": ns });
});

inBothDomains("a watch's version match and continue token are refused together [SEM-20] [SEM-32]", async (api) => {
  const { maps } = await startWatch(api);
  (await api.get(`${maps}?watch=1&continue=abc`)).expectFailure(422, "Invalid", /forbidden when continue is provided/);
  (await api.get(`${maps}?watch=1&resourceVersionMatch=Exact`)).expectFailure(422, "Invalid", undefined, {
    "details.causes.length": 2,
  });
});
