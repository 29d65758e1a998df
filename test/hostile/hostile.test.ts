/**
 * Hostile input and load: each case ends in a clear `Status` or a clean close, and the server continues. The tests
 * cover bodies and paths that break parsers, misbehaving connections, and exceeded limits. Several of them cover
 * classes of CVEs of other servers, which their names mention.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { patchTypes } from "../client.ts";
import { type Api, eventually, gated, suite, withOwnServer } from "../harness.ts";
import { attributesClass, attributesClasses, claim, configMap, lease, secret } from "../objects.ts";
import { connectHttp2, connectRaw, request2 } from "../raw.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

const yaml = "application/yaml";
const host = "Host: localhost\r\n";
const admin = "Authorization: Bearer admin-token\r\n";

/** Checks that the server still answers. */
async function isUp(api: Api): Promise<void> {
  (await api.get("/api/v1/namespaces/default")).expect(200);
}

inBothDomains("malformed JSON is refused with 400 [ERR-02]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const start = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m1"}';
  const bodies = [
    `${start}`,
    `${start},}`,
    `${start}}}`,
    `${start}} x`,
    `${start},"data":{"a":'b'}}`,
    `${start},"data":{"a":"b}}`,
    `${start},"data":{"a":"\\x"}}`,
    `${start},"data":{a:"b"}}`,
    `${start},"data":{"a":NaN}}`,
    `${start},"data":{"a":01}}`,
    `${start},"data":[1,]}`,
    `\u0000${start}}`,
    "\u001f\u008b",
    "]",
    " ",
  ];
  for (const body of bodies) {
    const answer = await api.post(configMaps, body);
    answer.expectFailure(400, "BadRequest");
  }
  (await api.get(configMaps)).expect(200, { items: [] });
});

inBothDomains("JSON nested without end is refused at the cost of its length", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1"))).expect(201);
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    const expectRefusal = async (depth: number): Promise<void> => {
      const deep = `${open.repeat(depth)}1${close.repeat(depth)}`;
      const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m2"},"data":${deep}}`;
      (await api.post(configMaps, body)).expectClientError();
      (await api.patch(`${configMaps}/m1`, `{"data":${deep}}`)).expectClientError();
      (await api.patch(`${configMaps}/m1`, `{"data":${deep}}`, patchTypes.strategic)).expectClientError();
      const operation = `[{"op":"add","path":"/data","value":${deep}}]`;
      (await api.patch(`${configMaps}/m1`, operation, patchTypes.json)).expectClientError();
      (await api.post(configMaps, body, { type: yaml })).expectClientError();
    };
    await expectRefusal(20_000);
    await growsInProportion(200_000, expectRefusal);
  }
  await isUp(api);
});

inBothDomains("YAML that multiplies itself is refused (CVE-2019-11253, CVE-2019-11254)", async (api) => {
  const { configMaps } = await api.createNamespace();
  const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m1\n";
  const laughs = ["a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]"];
  for (let i = 1; i < 12; i++) {
    const [to, from] = [String.fromCharCode(97 + i), String.fromCharCode(96 + i)];
    laughs.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(",")}]`);
  }
  const bodies = [
    `${head}data:\n  ${laughs.join("\n  ")}\n`,
    `${head}data: &x\n  a: *x\n`,
    `${head}data:\n  a: &a [x, *a]\n`,
    `${"- ".repeat(50_000)}x`,
    `${head}data: ${"[".repeat(50_000)}`,
    `${head}data: ${"{a: ".repeat(50_000)}`,
    `${head}${"#".repeat(100_000)}\n? ${"? ".repeat(20_000)}`,
    `${head}data:\n${" ".repeat(100_000)}a: b`,
    `${head}data:\n  a: "${"\\".repeat(99_999)}`,
    `${head}data:\n  <<: [${"*nothing,".repeat(1000)}]\n`,
  ];
  for (const body of bodies) {
    const answer = await api.post(configMaps, body, { type: yaml });
    assert.ok(answer.status < 500, answer.title);
  }
  (await api.get(`${configMaps}/m1`)).expect([200, 404]);
  await isUp(api);
});

inBothDomains("malformed YAML is refused with 400 [MEDIA-03]", async (api) => {
  const { configMaps } = await api.createNamespace();
  for (const body of [
    "a: b: c",
    "\t- x",
    "a: [",
    "%YAML 9\n---\n",
    "!!js/function 'x'",
    "--- a\n--- b\n",
    "a: !!binary x",
    "\u0000",
    "- a",
    "text",
  ]) {
    const answer = await api.post(configMaps, body, { type: yaml });
    assert.ok([400, 422].includes(answer.status), answer.title);
  }
  (await api.get(configMaps)).expect(200, { items: [] });
});

inBothDomains("keys that mean something to the language are ordinary keys", async (api) => {
  const { configMaps, secrets } = await api.createNamespace();
  const before = Object.getOwnPropertyNames(Object.prototype).sort();
  const text = (name: string): string =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"__proto__":"x","constructor":"y","toString":"z","hasOwnProperty":"w"}}`;
  const answer = (await api.post(configMaps, text("m1"))).expect(201, {
    "data.__proto__": "x",
    "data.constructor": "y",
    "data.toString": "z",
    "data.hasOwnProperty": "w",
  });
  (await api.get(`${configMaps}/m1`)).expect(200, { "data.__proto__": "x", "metadata.uid": answer.at("metadata.uid") });
  (await api.get(configMaps)).expect(200, { "items.0.data.__proto__": "x" });
  (await api.put(`${configMaps}/m1`, text("m1").replace('"x"', '"p"'))).expect(200, { "data.__proto__": "p" });
  (await api.patch(`${configMaps}/m1`, '{"data":{"__proto__":"q","__defineGetter__":"g"}}')).expect(200, {
    "data.__proto__": "q",
  });
  (await api.patch(`${configMaps}/m1`, '{"data":{"__proto__":"r"}}', patchTypes.strategic)).expect(200, {
    "data.__proto__": "r",
  });
  const operations =
    '[{"op":"replace","path":"/data/__proto__","value":"s"},{"op":"remove","path":"/data/constructor"}]';
  (await api.patch(`${configMaps}/m1`, operations, patchTypes.json)).expect(200, {
    "data.__proto__": "s",
    "data.constructor": absent,
  });
  const yamlBody = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m2\ndata:\n  __proto__: x\n  constructor: c\n";
  (await api.post(configMaps, yamlBody, { type: yaml })).expect(201, {
    "data.__proto__": "x",
    "data.constructor": "c",
  });
  (await api.post(secrets, secret("s1", JSON.parse('{"__proto__":"x"}') as Record<string, unknown>))).expect(201, {
    "data.__proto__": Buffer.from("x").toString("base64"),
  });
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before);
});

inBothDomains("such keys are unknown fields where a schema does not know them [FV-06]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const polluted = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},';
  const body = polluted + JSON.stringify(configMap("m1")).slice(1);
  const warned = (await api.post(configMaps, body)).expect(201, { __proto__: absent, constructor: absent });
  assert.deepEqual(warned.warnings.toSorted(), ['unknown field "__proto__"', 'unknown field "constructor"']);
  (await api.post(`${configMaps}?fieldValidation=Strict`, body.replace("m1", "m2"))).expectFailure(
    400,
    "BadRequest",
    /unknown field "__proto__"/,
  );
  (await api.patch(`${configMaps}/m1`, `${polluted}"data":{"a":"b"}}`)).expect(200, { "data.a": "b" });
  for (const path of ["/__proto__/polluted", "/constructor/prototype/polluted", "/metadata/__proto__/polluted"]) {
    const answer = await api.patch(`${configMaps}/m1`, [{ op: "add", path, value: true }], patchTypes.json);
    assert.ok(answer.status < 500, answer.title);
  }
  (await api.get(`${configMaps}?fieldSelector=__proto__%3Dx`)).expectClientError();
  (await api.get(`${configMaps}?labelSelector=constructor`)).expect(200, { items: [] });
  (await api.get(`${configMaps}/__proto__`)).expect(404);
  (await api.get("/apis/__proto__/v1/constructor")).expect(404);
  (await api.get("/api/v1/namespaces/default/__proto__")).expect(404);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

inBothDomains("numbers are exact or refused, never rounded", async (api) => {
  const { leases, ns } = await api.createNamespace();
  const counted = (value: string): string =>
    JSON.stringify(lease(api.unique("l"))).replace('"spec":{}', `"spec":{"leaseTransitions":${value}}`);
  for (const value of ["2147483648", "-2147483649", "99999999999999999999", "1.5", "1e400", "-", '"5"']) {
    (await api.post(leases, counted(value))).expectFailure(400, "BadRequest");
  }
  (await api.post(leases, counted("2147483647"))).expect(201, { "spec.leaseTransitions": 2147483647 });
  const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`;
  const template = { metadata: { labels: { a: "1" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "1" } }, template },
  };
  (await api.post(deployments, deployment)).expect(201);
  for (const generation of ["9007199254740993", "9223372036854775807"]) {
    const answer = await api.patch(`${deployments}/d/status`, `{"status":{"observedGeneration":${generation}}}`);
    assert.ok(answer.expect(200).text.includes(`"observedGeneration":${generation}`), answer.text);
    assert.ok((await api.get(`${deployments}/d`)).text.includes(`"observedGeneration":${generation}`));
  }
  (
    await api.patch(`${deployments}/d/status`, '{"status":{"observedGeneration":9223372036854775808}}')
  ).expectClientError();
});

inBothDomains("whole numbers of 64 bits mean what they say, those beyond 2^53 too", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  const post = (path: string, kind: string, more: string, name = `n${api.unique("n")}`) =>
    api.post(path, `{"apiVersion":"v1","kind":"${kind}","metadata":{"name":"${name}"${more}}`);
  for (const generation of ["9007199254740993", "9223372036854775807"]) {
    const response = (
      await post(configMaps, "ConfigMap", `,"generation":${generation},"finalizers":["a.io/b"]}`)
    ).expect(201);
    assert.ok(response.text.includes(`"generation":${generation}`), response.text);
    const path = `${configMaps}/${response.string("metadata.name")}`;
    const update = (await api.put(path, response.text.replace(generation, "9223372036854775806"))).expect(200);
    assert.ok(update.text.includes(`"generation":${generation}`), update.text);
    const deleted = (await api.delete(path)).expect(200);
    const next = BigInt.asIntN(64, BigInt(generation) + 1n);
    assert.ok(deleted.text.includes(`"generation":${next}`), deleted.text);
  }
  const negative = await post(configMaps, "ConfigMap", ',"generation":-9223372036854775808}', "negative");
  negative.expectFailure(
    422,
    "Invalid",
    /metadata\.generation: Invalid value: -9223372036854775808: must be greater than/,
  );

  const pods = `/api/v1/namespaces/${ns}/pods`;
  for (const [seconds, kept] of [
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "1"],
  ] as const) {
    const spec = `"nodeName":"n1","terminationGracePeriodSeconds":${seconds},"containers":[{"name":"c","image":"i"}]`;
    const pod = (await post(pods, "Pod", `},"spec":{${spec}}`)).expect(201);
    const deleted = (await api.delete(`${pods}/${pod.string("metadata.name")}`)).expect(200);
    assert.ok(deleted.text.includes(`"deletionGracePeriodSeconds":${kept},`), deleted.text);
    const path = `${pods}/${pod.string("metadata.name")}`;
    (await api.put(path, deleted.text)).expect(200, { "metadata.deletionTimestamp": present });
  }

  const revisions = `/apis/apps/v1/namespaces/${ns}/controllerrevisions`;
  const revision = `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"data":{},"revision":9007199254740993}`;
  (await api.post(revisions, revision)).expect(201);
  const table = await api.get(revisions, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
  assert.match(table.expect(200).text, /"cells":\["r","<none>",9007199254740993,/);

  const token = `/api/v1/namespaces/${ns}/serviceaccounts/default/token`;
  for (const [seconds, reason] of [
    ["9223372036854775807", /may not specify a duration larger than 2\^32 seconds/],
    ["-9223372036854775808", /may not specify a duration less than 10 minutes/],
  ] as const) {
    const answer = await api.post(token, `{"spec":{"expirationSeconds":${seconds}}}`);
    answer.expectFailure(422, "Invalid", reason);
  }
});

inBothDomains("bytes that are no UTF-8 never come back", async (api) => {
  const { configMaps } = await api.createNamespace();
  for (const [at, bytes] of [
    [0xff],
    [0xc3, 0x28],
    [0xed, 0xa0, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xc0, 0xaf],
  ].entries()) {
    const [head, tail] = JSON.stringify(configMap(`m${at}`, { k: "SPLIT" })).split("SPLIT");
    const body = Buffer.concat([Buffer.from(head!), Buffer.from(bytes), Buffer.from(tail!)]);
    const answer = await api.post(configMaps, body);
    answer.expect([201, 400]);
    const asYaml = await api.post(
      configMaps,
      Buffer.from(body.toString("latin1").replace(`m${at}`, `y${at}`), "latin1"),
      { type: yaml },
    );
    asYaml.expect([201, 400]);
  }
  const lone = await api.post(
    configMaps,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"lone"},"data":{"k":"\\ud800"}}',
  );
  lone.expect([201, 400]);
  const list = (await api.get(configMaps)).expect(200);
  assert.ok(Buffer.from(list.text).equals(list.bytes), "the list is no UTF-8");
});

inBothDomains(
  "what is too large is refused, however it is sent [LIMIT-08]",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    const { server } = api;
    const path = api.name(configMaps);
    const chunked = await connectRaw(server.endpoint, server.ca);
    chunked.write(
      `POST ${path} HTTP/1.1\r\n${host}${admin}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `${(256 * 1024).toString(16)}\r\n${" ".repeat(256 * 1024)}\r\n`;
    for (let i = 0; i < 14; i++) chunked.write(chunk);
    assert.match(await chunked.until("RequestEntityTooLarge"), /^HTTP\/1\.1 413 /);
    chunked.socket.destroy();
    const promised = await connectRaw(server.endpoint, server.ca);
    promised.write(
      `POST ${path} HTTP/1.1\r\n${host}${admin}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{`,
    );
    assert.match(await promised.until("RequestEntityTooLarge"), /^HTTP\/1\.1 413 /);
    promised.socket.destroy();
    const pieces = { "Bomb.": "x".repeat(3 * 1024 * 1024) };
    (await api.post(configMaps, configMap("m1", pieces))).expectFailure(413, "RequestEntityTooLarge");
    (await api.get(configMaps)).expect(200, { items: [] });
    await isUp(api);
  },
  { differs: "1.32 waits for the whole body" },
);

inBothDomains("objects beyond the size of their kind are refused [ERR-02]", async (api) => {
  const { configMaps, secrets } = await api.createNamespace();
  const large = "x".repeat(1024 * 1024 + 1);
  (await api.post(configMaps, configMap("m1", { k: large }))).expectFailure(
    422,
    "Invalid",
    /Too long: may not be more than 1048576 bytes/,
  );
  (await api.post(secrets, secret("s1", { k: large }))).expectFailure(
    422,
    "Invalid",
    /Too long: may not be more than 1048576 bytes/,
  );
});

inBothDomains("a JSON Patch has bounds: operations, copies (CVE-2019-1002100)", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { k: "x".repeat(1000) }))).expect(201);
  const path = `${configMaps}/m1`;
  const many = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/none", value: "x" }));
  (await api.patch(path, many, patchTypes.json)).expectFailure(
    413,
    "RequestEntityTooLarge",
    /The allowed maximum operations in a JSON patch is 10000, got 10001/,
  );
  const copies = Array.from({ length: 9000 }, (_, i) => ({ op: "copy", from: "/data", path: `/data/k${i}` }));
  const copied = await api.patch(path, copies, patchTypes.json);
  assert.ok(copied.status >= 400 && copied.status < 500, copied.title.slice(0, 500));
  const doubling = [
    { op: "add", path: "/metadata/annotations", value: { a: "x".repeat(1000) } },
    ...Array.from({ length: 30 }, (_, i) => ({ op: "copy", from: "/metadata", path: `/metadata/annotations/k${i}` })),
  ];
  const doubled = await api.patch(path, doubling, patchTypes.json);
  assert.ok(doubled.status >= 400 && doubled.status < 500, doubled.title.slice(0, 500));
  (await api.get(path)).expect(200, { data: { k: "x".repeat(1000) } });
  await isUp(api);
});

inBothDomains(
  "names never leave their segment of a path (CVE-2022-3162)",
  async (api) => {
    const { ns, configMaps, secrets } = await api.createNamespace();
    (await api.post(secrets, secret("hidden", { k: "v" }))).expect(201);
    const paths = [
      `${configMaps}/..`,
      `${configMaps}/.`,
      `${configMaps}/%2e%2e`,
      `${configMaps}/..%2fsecrets%2fhidden`,
      `${configMaps}/%2e%2e%2fsecrets%2fhidden`,
      `${configMaps}/..%2f..%2f${ns}%2fsecrets%2fhidden`,
      `${configMaps}/a%2f..%2fb`,
      `${configMaps}/a%252f..%252fb`,
      `/api/v1/namespaces/${ns}/../${ns}/secrets/hidden`,
      `/api/v1/namespaces/%2e%2e/configmaps/x`,
      `/api/v1/namespaces/x%2f..%2f${ns}/secrets/hidden`,
      `/api/v1/configmaps/../namespaces/${ns}/secrets/hidden`,
      `//api/v1/namespaces/${ns}/secrets/hidden`,
      `/api//v1/namespaces/${ns}/secrets/hidden`,
      `/api/v1/namespaces//${ns}/secrets/hidden`,
      `/api/./v1/namespaces/${ns}/secrets/hidden`,
      `/apis/../api/v1/namespaces/${ns}/secrets/hidden`,
      `/api/v1/namespaces/${ns}/secrets%00/hidden`,
      `/api/v1/namespaces/${ns}\\secrets\\hidden`,
      "/..%2f..%2f..%2fetc%2fpasswd",
    ];
    for (const path of paths) {
      for (const method of ["GET", "DELETE"]) {
        const answer = await api.send(method, path);
        assert.ok([400, 404, 405].includes(answer.status), `${method} ${answer.title}`);
      }
    }
    for (const name of ["..", ".", "a/b", "a%2fb", "%2e%2e"])
      (await api.post(configMaps, configMap(name))).expectClientError();
    (await api.get(`${secrets}/hidden`)).expect(200);
  },
  { differs: "1.32 answers 500 to some" },
);

inBothDomains(
  "a cluster-scoped object is not reached through a namespace, nor the other way (CVE-2019-11247)",
  async (api) => {
    const { ns, configMaps } = await api.createNamespace();
    const name = api.unique();
    (await api.post(attributesClasses, attributesClass(name))).expect(201);
    (await api.post(configMaps, configMap(name))).expect(201);
    const inside = `/apis/storage.k8s.io/v1beta1/namespaces/${ns}/volumeattributesclasses`;
    for (const path of [
      inside,
      `${inside}/${name}`,
      `/api/v1/configmaps/${name}`,
      `/api/v1/namespaces/default/namespaces/${ns}`,
    ]) {
      for (const method of ["GET", "DELETE"]) (await api.send(method, path)).expect([404, 405]);
    }
    (await api.post(inside, attributesClass(api.unique()))).expect(404);
    (await api.get(`${attributesClasses}/${name}`)).expect(200);
  },
);

inBothDomains(
  "bad queries are refused or ignored, and never felt",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    (await api.post(configMaps, configMap("m1"))).expect(201);
    const queries = [
      "limit=-1",
      "limit=0x10",
      "limit=1e3",
      "%zz",
      "a=%",
      "=",
      "&&&&",
      ";",
      "watch=%00&timeoutSeconds=1",
      "labelSelector=%00",
      "fieldSelector=%ff",
      "labelSelector=a&labelSelector=b",
      "continue=%00%ff",
      "resourceVersion=%20",
      "resourceVersion=-1",
      "pretty=%f0%9f%98%80",
      "timeoutSeconds=-5",
      "timeoutSeconds=99999999999999999999",
      "dryRun=All&dryRun=None",
      `a=${"b".repeat(4000)}`,
      Array.from({ length: 500 }, (_, i) => `k${i}=v`).join("&"),
    ];
    for (const query of queries) {
      const answer = await api.get(`${configMaps}?${query}`);
      assert.ok(answer.status < 500, answer.title);
      if (answer.status !== 200) answer.expectClientError();
    }
    await isUp(api);
  },
  { differs: "1.32 answers 500 to some" },
);

inBothDomains("long selectors are answered", async (api) => {
  const { configMaps } = await api.createNamespace();
  for (let i = 0; i < 20; i++) (await api.post(configMaps, configMap(`m${i}`, {}, { labels: { a: "b" } }))).expect(201);
  const selectors = [
    `a in (${Array.from({ length: 1000 }, (_, i) => `v${i}`).join(",")})`,
    Array.from({ length: 500 }, (_, i) => `k${i}!=v`).join(","),
    `${"!".repeat(3000)}a`,
    `a in (${"(".repeat(3000)}`,
    `${",".repeat(3000)}`,
    `a=${" ".repeat(3000)}b`,
  ];
  for (const selector of selectors) {
    const answer = await api.get(`${configMaps}?labelSelector=${encodeURIComponent(selector)}`);
    assert.ok(answer.status < 500, answer.title);
  }
});

inBothDomains(
  "odd paths and methods do not grow the metrics (CVE-2020-8552)",
  async (api) => {
    const seriesNow = async (): Promise<string[]> => {
      const { text } = (await api.get("/metrics")).expect(200);
      // The server renews its own Lease every ten seconds.
      return text
        .split("\n")
        .filter((line) => !line.includes('resource="leases"'))
        .flatMap((line) => /^[a-z][^ ]*/.exec(line)?.[0] ?? []);
    };
    const odd = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const word = randomBytes(6).toString("hex");
        await api.get(`/${word}`);
        await api.get(`/api/v1/namespaces/${word}/configmaps/${word}`);
        await api.get(`/apis/${word}.example.com/v1/${word}`);
        await api.get(`/api/v1/${word}?watch=true`);
        await api.send(i % 2 === 0 ? "PROPFIND" : "LOCK", `/api/v1/configmaps`);
        await api.get(`/api/v1/configmaps/x/${word}`);
        await api.get("/api/v1/namespaces", { headers: { "user-agent": word, "x-whatever": word } });
      }
    };
    await odd(5);
    // The controllers of a new server make requests of new kinds, but only for some time.
    let added: string[] = [];
    for (let tries = 0; tries < 10; tries++) {
      const known = new Set(await seriesNow());
      await odd(100);
      added = (await seriesNow()).filter((series) => !known.has(series));
      if (added.length <= 5) break;
    }
    assert.ok(added.length <= 5, `new series: ${added.slice(0, 20).join("\n")}`);
  },
  { differs: "the reference is not asked for its metrics" },
);

inBothDomains("garbage on a connection ends the connection, not the server", async (api) => {
  const { server } = api;
  const texts = [
    "garbage\r\n\r\n",
    "GET\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    `GET / HTTP/1.1\r\n${host}Bad Header: x\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}: x\r\n\r\n`,
    `GET /\u0000 HTTP/1.1\r\n${host}\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: -5\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 1e3\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: nonsense\r\n\r\n`,
    randomBytes(2000).toString("latin1"),
    "\r\n".repeat(1000),
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ];
  for (const text of texts) {
    const raw = await connectRaw(server.endpoint, server.ca);
    raw.write(Buffer.from(text, "latin1"));
    raw.socket.end();
    const received = await raw.closed();
    assert.ok(
      received === "" || /^HTTP\/1\.[01] (4|5)\d\d /.test(received),
      `${JSON.stringify(text.slice(0, 60))}: ${received.slice(0, 200)}`,
    );
    assert.doesNotMatch(received, /HTTP\/1\.1 200/, text.slice(0, 60));
    raw.socket.destroy();
  }
  await isUp(api);
});

inBothDomains("a second request hidden in a body is not answered", async (api) => {
  const { server } = api;
  const raw = await connectRaw(server.endpoint, server.ca);
  const hidden = `GET /version HTTP/1.1\r\n${host}${admin}\r\n`;
  raw.write(
    `POST /api/v1/namespaces HTTP/1.1\r\n${host}${admin}Content-Type: application/json\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}GET /livez HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
  );
  const received = await raw.closed();
  assert.equal(received.match(/HTTP\/1\.1 \d\d\d/g)?.length, 2, received);
  assert.doesNotMatch(received, /gitVersion/);
  raw.socket.destroy();
});

inBothDomains(
  "a flood of headers is refused",
  async (api) => {
    const { server } = api;
    for (const headers of [
      Array.from({ length: 200 }, (_, i) => `X-H${i}: ${"v".repeat(10_000)}\r\n`).join(""),
      `X-H: ${"v".repeat(2_000_000)}\r\n`,
      Array.from({ length: 20_000 }, (_, i) => `X-${i}: v\r\n`).join(""),
    ]) {
      const raw = await connectRaw(server.endpoint, server.ca);
      raw.write(`GET /livez HTTP/1.1\r\n${host}${headers}\r\n`);
      const received = await raw.until("\r\n\r\n");
      assert.ok(received === "" || /^HTTP\/1\.1 (431|400|413) /.test(received), received.slice(0, 200));
      raw.socket.destroy();
    }
    await isUp(api);
  },
  { differs: "1.32 takes more of them" },
);

inBothDomains(
  "a half-closed connection gets its answer",
  async (api) => {
    const { server } = api;
    const raw = await connectRaw(server.endpoint, server.ca);
    raw.write(`GET /api/v1/namespaces/default HTTP/1.1\r\n${host}${admin}\r\n`);
    raw.socket.end();
    const received = await raw.closed();
    assert.match(received, /^HTTP\/1\.1 200 /);
    assert.match(received, /"kind":"Namespace"/);
    raw.socket.destroy();
  },
  { differs: "Go's server ends such a request" },
);

inBothDomains("a client that leaves in the middle is forgotten", async (api) => {
  const { configMaps } = await api.createNamespace();
  const { server } = api;
  const path = api.name(configMaps);
  for (let i = 0; i < 30; i++) {
    const raw = await connectRaw(server.endpoint, server.ca);
    raw.write(
      `POST ${path} HTTP/1.1\r\n${host}${admin}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"apiVersion"`,
    );
    raw.socket.destroy();
    const watch = await connectRaw(server.endpoint, server.ca);
    watch.write(`GET ${path}?watch=true HTTP/1.1\r\n${host}${admin}\r\n`);
    await watch.until("\r\n\r\n");
    watch.socket.destroy();
  }
  (await api.get(configMaps)).expect(200, { items: [] });
  (await api.post(configMaps, configMap("m1"))).expect(201);
  await isUp(api);
});

inBothDomains("many requests in one packet are answered in their order", async (api) => {
  const { server } = api;
  const raw = await connectRaw(server.endpoint, server.ca);
  const paths = Array.from({ length: 100 }, (_, i) => `/api/v1/namespaces/none-${i}`);
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\n${host}${admin}\r\n`).join("");
  raw.write(`${requests}GET /livez HTTP/1.1\r\n${host}Connection: close\r\n\r\n`);
  const received = await raw.closed();
  const order = [...received.matchAll(/namespaces \\"none-(\d+)\\" not found/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    order,
    paths.map((_, i) => i),
  );
  raw.socket.destroy();
});

inBothDomains("streams opened and reset without end are cut off (HTTP/2 rapid reset)", async (api) => {
  const { server } = api;
  const session = await connectHttp2(server.endpoint, server.ca);
  const headers = { ":path": "/api/v1/namespaces", authorization: "Bearer no-such-token" };
  for (let i = 0; i < 3000 && !session.destroyed && !session.closed; i++) {
    const stream = session.request(headers);
    stream.on("error", () => undefined);
    stream.close(8);
    if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
  }
  await isUp(api);
  session.destroy();
  const good = await connectHttp2(server.endpoint, server.ca);
  const answer = await request2(good, { ":path": "/api/v1/namespaces/default", authorization: "Bearer admin-token" });
  assert.equal(answer.status, 200);
  good.destroy();
});

inBothDomains("an HTTP/2 connection carries requests side by side, watches among them", async (api) => {
  const { configMaps } = await api.createNamespace();
  const { server } = api;
  const session = await connectHttp2(server.endpoint, server.ca);
  const authorization = "Bearer admin-token";
  const path = api.name(configMaps);
  const watch = session.request({ ":path": `${path}?watch=true`, authorization });
  let seen = "";
  watch.setEncoding("utf8");
  watch.on("data", (text: string) => {
    seen += text;
  });
  watch.on("error", () => undefined);
  const names = Array.from({ length: 50 }, (_, i) => `m${i}`);
  const answers = await Promise.all(
    names.map((name) =>
      request2(
        session,
        { ":path": path, ":method": "POST", "content-type": "application/json", authorization },
        api.name(JSON.stringify(configMap(name))),
      ),
    ),
  );
  for (const answer of answers) assert.equal(answer.status, 201, answer.text);
  await eventually(async () => assert.equal(await Promise.resolve(seen.trimEnd().split("\n").length), 50));
  const bad = await request2(
    session,
    { ":path": path, ":method": "POST", "content-type": "application/json", authorization },
    "{",
  );
  assert.equal(bad.status, 400);
  session.destroy();
});

const impatient = { ...gated, requestTimeoutMs: 1500 };

withOwnServer("a body that never ends is given up", impatient, async (api) => {
  const { configMaps } = await api.createNamespace();
  const { server } = api;
  const raw = await connectRaw(server.endpoint, server.ca);
  raw.write(
    `POST ${api.name(configMaps)} HTTP/1.1\r\n${host}${admin}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"api`,
  );
  const received = await raw.until('"code":');
  assert.ok(received === "" || /^HTTP\/1\.1 (408|504|400) /.test(received), received);
  raw.socket.destroy();
  (await api.post(configMaps, configMap("m1"))).expect(201);
  await isUp(api);
});

withOwnServer(
  "more requests than there are seats are told to come back [LIMIT-07]",
  // Controllers are off, since their requests take seats too.
  {
    ...gated,
    controllers: ["-*"],
    maxRequestsInflight: 3,
    maxMutatingRequestsInflight: 1,
    enablePriorityAndFairness: false,
  },
  async (api) => {
    const { configMaps } = await api.createNamespace();
    const { server } = api;
    // Reads that wait for a version far in the future, and a write whose body does not end, take all seats. A read that
    // gave up is followed by another one. There are more of these users than seats, since a user is answered without a
    // seat if none is free.
    let isOver = false;
    const waitAgain = async (): Promise<readonly number[]> => {
      const answers: number[] = [];
      while (!isOver) answers.push((await api.get(`${configMaps}?resourceVersion=99999999999`)).status);
      return answers;
    };
    const waiting = Promise.all(Array.from({ length: 12 }, waitAgain));
    // When something else fails first, the server ends below these requests, which would hide that failure.
    waiting.catch(() => undefined);
    const answer = await eventually(async () => (await api.get(configMaps, { as: "bob" })).expect(429));
    assert.equal(answer.headers["retry-after"], "1");
    assert.match(answer.text, /Too many requests, please try again later/);
    // A write that found no free seat, because the server itself wrote just then, is followed by another one as well.
    const slow: Awaited<ReturnType<typeof connectRaw>>[] = [];
    const write = await eventually(async () => {
      const raw = await connectRaw(server.endpoint, server.ca);
      slow.push(raw);
      raw.write(
        `POST ${api.name(configMaps)} HTTP/1.1\r\n${host}${admin}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"api`,
      );
      return (await api.post(configMaps, configMap("m1"), { as: "bob" })).expect(429);
    });
    assert.equal(write.headers["retry-after"], "1");
    // Users with all rights get through, and watches need no seat.
    (await api.get(`${configMaps}/none`)).expect(404);
    (await api.watch(configMaps)).close();
    isOver = true;
    const answers = (await waiting).flat();
    assert.ok(answers.length > 0 && answers.every((status) => status === 504), answers.join());
    for (const raw of slow) raw.socket.destroy();
    await eventually(async () => (await api.get(configMaps, { as: "bob" })).expect(403));
    await eventually(async () => (await api.post(configMaps, configMap("m1"), { as: "bob" })).expect(403));
  },
);

inBothDomains("writes of all kinds at the same time leave a server that works", async (api) => {
  const { configMaps, claims } = await api.createNamespace();
  const work: Promise<unknown>[] = [];
  for (let i = 0; i < 150; i++) {
    work.push(api.post(configMaps, configMap(`m${i % 20}`)));
    work.push(api.patch(`${configMaps}/m${i % 20}`, { data: { n: String(i) } }));
    work.push(api.delete(`${configMaps}/m${(i * 7) % 20}`));
    work.push(api.get(`${configMaps}?limit=3`));
    work.push(api.post(claims, claim(`c${i % 5}`)));
  }
  for (const answer of (await Promise.all(work)) as Awaited<ReturnType<Api["get"]>>[]) {
    assert.ok([200, 201, 404, 409].includes(answer.status), answer.title);
  }
  await isUp(api);
});
