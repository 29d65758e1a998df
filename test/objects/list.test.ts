/** Lists: envelope, consistent chunks, continue tokens. */
import assert from "node:assert/strict";
import { type Answer } from "../client.ts";
import { type Api, suite } from "../harness.ts";
import { attributesClass, attributesClasses, claim, configMap } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

/** Creates claims with these names, one after the other. */
async function makeClaims(api: Api, claims: string, names: readonly string[], metadata = {}): Promise<void> {
  for (const name of names) (await api.post(claims, claim(name, {}, metadata))).expect(201);
}

const token = (answer: Answer): string => encodeURIComponent(answer.string("metadata.continue"));

/** Reads all chunks of a collection. */
async function chunks(
  api: Api,
  path: string,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<Answer[]> {
  const pages = [(await api.get(path)).expect(200)];
  for (;;) {
    const last = pages.at(-1)!;
    if ((last.at("metadata.continue") ?? "") === "") return pages;
    await between();
    pages.push((await api.get(`${path}&continue=${token(last)}`)).expect(200));
  }
}

inBothDomains(
  "a list has the kind of its items with List behind it, and their apiVersion [LIST-01] [LIST-02]",
  async (api) => {
    const { claims } = await api.createNamespace();
    (await api.get(claims)).expect(200, { kind: "PersistentVolumeClaimList", apiVersion: "v1" });
    (await api.get(attributesClasses)).expect(200, {
      kind: "VolumeAttributesClassList",
      apiVersion: "storage.k8s.io/v1beta1",
    });
    (await api.get("/api/v1/namespaces")).expect(200, { kind: "NamespaceList" });
  },
);

inBothDomains("a watch from a list's version shows exactly what came after it [LIST-03]", async (api) => {
  const { claims } = await api.createNamespace();
  await makeClaims(api, claims, ["before"]);
  const version = (await api.get(claims)).expect(200).string("metadata.resourceVersion");
  const stream = await api.watch(`${claims}?resourceVersion=${version}`);
  await makeClaims(api, claims, ["c1", "c2"]);
  const events = await stream.take(2);
  assert.deepEqual(
    events.map((event) => [event.type, event.name]),
    [
      ["ADDED", "c1"],
      ["ADDED", "c2"],
    ],
  );
});

inBothDomains(
  "chunks follow each other by a token, the last has none [LIST-04] [LIST-05] [LIST-06] [LIST-09]",
  async (api) => {
    const { claims } = await api.createNamespace();
    await makeClaims(api, claims, ["a", "b", "c"]);
    const first = (await api.get(`${claims}?limit=2`)).expect(200, {
      "items.length": 2,
      "metadata.continue": /.+/,
      "metadata.remainingItemCount": 1,
    });
    assert.deepEqual(first.names(), ["a", "b"]);
    const last = (await api.get(`${claims}?limit=2&continue=${token(first)}`)).expect(200, {
      "items.length": 1,
      "metadata.continue": absent,
      "metadata.remainingItemCount": absent,
    });
    assert.deepEqual(last.names(), ["c"]);
    (await api.get(claims)).expect(200, { "metadata.continue": absent, "metadata.remainingItemCount": absent });
    (await api.get(`${claims}?limit=3`)).expect(200, { "metadata.continue": absent, "items.length": 3 });
  },
);

inBothDomains("how many remain is not said when a selector was used [LIST-07] [LIST-08]", async (api) => {
  const { ns, claims } = await api.createNamespace();
  await makeClaims(api, claims, ["a", "b"], { labels: { a: "1" } });
  await makeClaims(api, claims, ["c"]);
  (await api.get(`${claims}?limit=1&labelSelector=a%3D1`)).expect(200, {
    "items.length": 1,
    "metadata.continue": /.+/,
    "metadata.remainingItemCount": absent,
  });
  (await api.get(`${claims}?limit=1&fieldSelector=metadata.namespace%3D${ns}`)).expect(200, {
    "items.length": 1,
    "metadata.continue": /.+/,
    "metadata.remainingItemCount": absent,
  });
});

inBothDomains("chunks with a selector have as many matches as asked for [LIST-07]", async (api) => {
  const { claims } = await api.createNamespace();
  for (let i = 0; i < 9; i++) await makeClaims(api, claims, [`c${i}`], { labels: { odd: String(i % 2) } });
  const pages = await chunks(api, `${claims}?limit=2&labelSelector=odd%3D1`);
  assert.deepEqual(
    pages.flatMap((page) => page.names()),
    ["c1", "c3", "c5", "c7"],
  );
  assert.equal(pages[0]!.names().length, 2);
});

inBothDomains(
  "items are of the listed kind, without kind and apiVersion of their own, by name [LIST-10]",
  async (api) => {
    const { claims, configMaps } = await api.createNamespace();
    await makeClaims(api, claims, ["b", "a", "a-b", "a.b", "ab", "a0"]);
    (await api.post(configMaps, configMap("m"))).expect(201);
    const list = (await api.get(claims)).expect(200);
    for (const item of list.list("items")) {
      item.has({ kind: absent, apiVersion: absent, "spec.accessModes": ["ReadWriteOnce"] });
    }
    assert.deepEqual(list.names(), ["a", "a-b", "a.b", "a0", "ab", "b"]);
    const single = (await api.get(`${claims}/a`)).expect(200);
    const { kind: _kind, apiVersion: _version, ...rest } = single.value as Record<string, unknown>;
    assert.deepEqual(list.list("items")[0]!.value, rest);
  },
);

inBothDomains("an empty collection is an empty list [LIST-11]", async (api) => {
  const { claims, templates, secrets } = await api.createNamespace();
  for (const path of [claims, templates, secrets, `${claims}?limit=5`, `${claims}?labelSelector=a`]) {
    (await api.get(path)).expect(200, { items: [], "metadata.resourceVersion": /^\d+$/ });
  }
});

inBothDomains("no kind is called List [LIST-12]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, { kind: "List", apiVersion: "v1", items: [claim("c1")] })).expectClientError();
  (await api.get(claims)).expect(200, { kind: "PersistentVolumeClaimList", items: [] });
  (await api.get("/api/v1")).expect(200, { "resources[kind=List]": absent });
});

inBothDomains("limit bounds the items of each chunk [SEM-40]", async (api) => {
  const { claims } = await api.createNamespace();
  await makeClaims(api, claims, ["a", "b", "c", "d", "e"]);
  const pages = await chunks(api, `${claims}?limit=2`);
  assert.deepEqual(
    pages.map((page) => page.names().length),
    [2, 2, 1],
  );
  assert.deepEqual(
    pages.map((page) => page.at("metadata.remainingItemCount")),
    [3, 1, undefined],
  );
});

inBothDomains("chunks show one moment, and say which, while others write [SEM-11] [SEM-41] [SEM-42]", async (api) => {
  const { claims } = await api.createNamespace();
  const maps = claims.replace("persistentvolumeclaims", "configmaps");
  for (const name of ["a", "b", "c", "d", "e"]) (await api.post(maps, configMap(name, { v: "1" }))).expect(201);
  let round = 0;
  const pages = await chunks(api, `${maps}?limit=2`, async () => {
    round++;
    if (round === 1) {
      (await api.delete(`${maps}/c`)).expect(200);
      (await api.patch(`${maps}/d`, { data: { v: "2" } })).expect(200);
      (await api.post(maps, configMap("bb"))).expect(201);
    } else (await api.post(maps, configMap("zz"))).expect(201);
  });
  assert.deepEqual(
    pages.map((page) => page.names()),
    [["a", "b"], ["c", "d"], ["e"]],
  );
  assert.equal(new Set(pages.map((page) => page.string("metadata.resourceVersion"))).size, 1);
  pages[1]!.has({ "items.1.data.v": "1" });
  assert.deepEqual((await api.get(maps)).names(), ["a", "b", "bb", "d", "e", "zz"]);
});

inBothDomains("a token works only where it came from, whole [SEM-44]", async (api) => {
  const { claims } = await api.createNamespace();
  await makeClaims(api, claims, ["a", "b", "c"]);
  for (const bad of ["xyz", "%25", "e30", Buffer.from('{"v":"no/v9","rv":5,"start":"x"}').toString("base64url")]) {
    (await api.get(`${claims}?limit=1&continue=${bad}`)).expectFailure(400, "BadRequest", /continue key is not valid/);
  }
  const first = (await api.get(`${claims}?limit=1`)).expect(200);
  (await api.get(`${claims}?limit=1&continue=${token(first).slice(0, -6)}`)).expectFailure(400, "BadRequest");
});

inBothDomains("a token counts where a selector names one object, too [QP-03] [SEM-44]", async (api) => {
  const { claims } = await api.createNamespace();
  await makeClaims(api, claims, ["c1", "c2", "c3", "c4"]);
  const after = token((await api.get(`${claims}?limit=2`)).expect(200));
  const named = async (name: string, limit: string): Promise<[string[], boolean]> => {
    const page = await api.get(`${claims}?fieldSelector=metadata.name%3D${name}&continue=${after}${limit}`);
    const goesOn = (page.expect(200).at("metadata.continue") ?? "") !== "";
    return [page.names(), goesOn];
  };
  assert.deepEqual(await named("c2", ""), [[], false]);
  assert.deepEqual(await named("c3", ""), [["c3"], false]);
  assert.deepEqual(await named("c3", "&limit=1"), [["c3"], true]);
  assert.deepEqual(await named("c3", "&limit=2"), [["c3"], false]);
  assert.deepEqual(await named("c4", "&limit=1"), [["c4"], false]);
});

inBothDomains("pages of one namespace that a selector names show each object once [SEM-41] [SEM-44]", async (api) => {
  const { claims, ns } = await api.createNamespace();
  await makeClaims(api, claims, ["c1", "c2", "c3"]);
  const all = "/api/v1/persistentvolumeclaims";
  const own = `fieldSelector=metadata.namespace%3D${ns}`;
  const pages = await chunks(api, `${all}?limit=1&${own}`);
  assert.deepEqual(
    pages.map((page) => page.names()),
    [["c1"], ["c2"], ["c3"]],
  );
  // A token relates to the collection of the path, with and without a selector.
  const after = token(pages[0]!);
  const next = (await api.get(`${all}?limit=1&continue=${after}`)).expect(200, { "items.0.metadata.namespace": ns });
  assert.deepEqual(next.names(), ["c2"]);
});

inBothDomains("a token never leads out of its collection [SEM-44]", async (api) => {
  const { claims, secrets } = await api.createNamespace();
  const other = await api.createNamespace();
  (await api.post(other.secrets, { apiVersion: "v1", kind: "Secret", metadata: { name: "hidden" } })).expect(201);
  await makeClaims(api, claims, ["a", "b"]);
  const decoded = (await api.get(`${claims}?limit=1`)).expect(200).string("metadata.continue");
  const version = Number((await api.get(claims)).string("metadata.resourceVersion"));
  const starts = [
    `../../${other.ns}/secrets/`,
    `../${other.ns}/hidden`,
    "..",
    "../../../",
    "/../",
    "a/../../",
    "%2e%2e/",
  ];
  for (const start of starts) {
    const forged = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: version, start })).toString("base64url");
    const answer = await api.get(`${secrets}?limit=10&continue=${forged}`);
    answer.expect([200, 400]);
    assert.ok(answer.status === 400 || !answer.text.includes("hidden"), answer.title);
  }
  assert.notEqual(decoded, "");
});

inBothDomains("a collection of the whole cluster is chunked like one of a namespace [SEM-40] [EP-05]", async (api) => {
  const label = api.unique("l");
  const namespaces = [await api.createNamespace(), await api.createNamespace(), await api.createNamespace()];
  for (const { claims } of namespaces) await makeClaims(api, claims, ["a", "b"], { labels: { [label]: "1" } });
  const pages = await chunks(api, `/api/v1/persistentvolumeclaims?limit=4&labelSelector=${label}`);
  const names = pages.flatMap((page) =>
    page.list("items").map((item) => `${item.string("metadata.namespace")}/${item.string("metadata.name")}`),
  );
  const wanted = namespaces.flatMap(({ ns }) => [`${ns}/a`, `${ns}/b`]).sort();
  assert.deepEqual(names, wanted);
  assert.equal(pages.length, 2);
});

inBothDomains("cluster-scoped collections are chunked too [SEM-40]", async (api) => {
  const label = api.unique("l");
  for (let i = 0; i < 3; i++) {
    (await api.post(attributesClasses, attributesClass(api.unique("v"), {}, { labels: { [label]: "1" } }))).expect(201);
  }
  const pages = await chunks(api, `${attributesClasses}?limit=2&labelSelector=${label}`);
  assert.deepEqual(
    pages.map((page) => page.names().length),
    [2, 1],
  );
});
