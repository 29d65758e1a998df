/** The values of records. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readRecord, recordBytes, type ServerRecord } from "./record.ts";

const record: ServerRecord = {
  id: "a",
  host: "host",
  address: "::1",
  port: 6443,
  isEndpoint: true,
  version: "1",
  started: "2026-01-01T00:00:00Z",
  since: 3,
  applied: 5,
  asks: 0,
  isStopping: false,
  settings: {
    issuers: ["https://a"],
    signingKey: "k",
    verificationKeys: ["k"],
    clientAuthorities: [],
    serviceRanges: ["10.0.0.0/24"],
    nodePorts: "30000-32767",
    encryption: [{ resources: ["secrets"], providers: ["aescbc key1", "identity"] }],
    kinds: { stores: ["/v1"], reads: ["/v1", "apps/v1"], featureGates: ["A=true"], runtimeConfig: [] },
  },
};

test("a record comes back as it was written, with its revision", () => {
  assert.deepEqual(readRecord(recordBytes(record), 7), { ...record, revision: 7 });
});

test("a record of a version that does not say its kinds is one", () => {
  const { kinds: _kinds, ...settings } = record.settings;
  assert.deepEqual(readRecord(recordBytes({ ...record, settings }), 7), { ...record, settings, revision: 7 });
});

test("a record is no JSON, which the log on etcd would take for an object of another program", () => {
  assert.doesNotMatch(recordBytes(record).toString(), /^[[{"]/);
});

test("values of another form are no records", () => {
  const changed = (change: object): Buffer => recordBytes({ ...record, ...change });
  const others = [
    "",
    "{}",
    "server ",
    "server {",
    "server []",
    changed({ id: 1 }),
    changed({ applied: "5" }),
    changed({ applied: 1e308 }),
    changed({ since: -1 }),
    changed({ asks: undefined }),
    changed({ address: undefined }),
    changed({ address: "a name" }),
    changed({ port: "6443" }),
    changed({ port: 65_536 }),
    changed({ settings: null }),
    changed({ settings: {} }),
    changed({ settings: { ...record.settings, encryption: [{ resources: "secrets" }] } }),
    changed({ settings: { ...record.settings, kinds: {} } }),
    changed({ settings: { ...record.settings, kinds: { ...record.settings.kinds, reads: [1] } } }),
  ];
  for (const value of others) assert.equal(readRecord(Buffer.from(value), 7), undefined, value.toString());
});
