/** Settings in which servers of one store must not differ. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { disagreement, toleratedDifferences } from "./agreement.ts";
import type { PeerRecord, SharedSettings } from "./record.ts";

const usual: SharedSettings = {
  issuers: ["https://issuer"],
  signingKey: "k1",
  verificationKeys: ["k1"],
  clientAuthorities: ["c1"],
  serviceRanges: ["10.0.0.0/24"],
  nodePorts: "30000-32767",
  encryption: [],
};

const builtIn = [
  { group: "", resource: "configmaps" },
  { group: "", resource: "secrets" },
];

// The members that are read.
const peerWith = (settings: Partial<SharedSettings>): PeerRecord =>
  ({ id: "id-2", address: "10.1.0.2", port: 6443, settings: { ...usual, ...settings } }) as PeerRecord;

const messageOf = (own: Partial<SharedSettings>, other: Partial<SharedSettings> = {}): string | undefined =>
  disagreement({ ...usual, ...own }, peerWith(other), builtIn);

/** Checks that the pair is refused, whichever server comes second, with the values in the order here, there. */
function differ(one: Partial<SharedSettings>, two: Partial<SharedSettings>, what: string, a: string, b: string): void {
  const start = "this server and the one at 10.1.0.2:6443 (id-2), which has the same store, differ in ";
  assert.equal(messageOf(one, two)?.split("; ")[0], `${start}${what}: here ${a}, there ${b}`);
  assert.equal(messageOf(two, one)?.split("; ")[0], `${start}${what}: here ${b}, there ${a}`);
}

function agree(one: Partial<SharedSettings>, two: Partial<SharedSettings>): void {
  assert.deepEqual([messageOf(one, two), messageOf(two, one)], [undefined, undefined]);
}

test("servers with the same settings agree", () => agree({}, {}));

test("ranges are the same", () => {
  const ranges = "--service-cluster-ip-range";
  differ({}, { serviceRanges: ["10.1.0.0/24"] }, ranges, "10.0.0.0/24", "10.1.0.0/24");
  differ({}, { serviceRanges: ["10.0.0.0/24", "fd00::/112"] }, ranges, "10.0.0.0/24", "10.0.0.0/24,fd00::/112");
  differ({}, { nodePorts: "30000-30100" }, "--service-node-port-range", "30000-32767", "30000-30100");
});

test("each server accepts the tokens of the others, so that keys and issuers can be replaced one server at a time", () => {
  const keys = "the keys of service accounts";
  const said = (signingKey: string, ...others: string[]): string =>
    `${signingKey} signs and ${others.join(", ")} verify`;
  differ({}, { signingKey: "k2", verificationKeys: ["k2"] }, keys, said("k1", "k1"), said("k2", "k2"));
  differ({}, { signingKey: "k2", verificationKeys: ["k2", "k1"] }, keys, said("k1", "k1"), said("k2", "k2", "k1"));
  const both = { verificationKeys: ["k1", "k2"] };
  agree({}, both);
  agree(both, { signingKey: "k2", verificationKeys: ["k2", "k1"] });
  agree({ signingKey: "k2", verificationKeys: ["k2"] }, { signingKey: "k2", verificationKeys: ["k2", "k1"] });
  const issuer = "--service-account-issuer";
  differ({}, { issuers: ["https://other"] }, issuer, "https://issuer", "https://other");
  agree({ issuers: ["https://issuer", "https://new"] }, { issuers: ["https://new", "https://issuer"] });
});

test("servers have an authority of clients in common, if both have any", () => {
  differ({}, { clientAuthorities: ["c2", "c3"] }, "the authorities of client certificates", "c1", "c2, c3");
  agree({}, { clientAuthorities: ["c2", "c1"] });
  agree({}, { clientAuthorities: [] });
});

test("each server reads what the others write, for each resource", () => {
  const rule = (resources: readonly string[], ...providers: string[]) => ({ encryption: [{ resources, providers }] });
  const plain = rule(["secrets"], "identity", "aescbc k1");
  const one = rule(["secrets"], "aescbc k1", "identity");
  const prepared = rule(["secrets"], "aescbc k1", "aescbc k2", "identity");
  const two = rule(["secrets"], "aescbc k2", "aescbc k1", "identity");
  differ({}, one, "the encryption of secrets", "identity writes", "aescbc k1 writes and identity reads");
  differ(
    one,
    two,
    "the encryption of secrets",
    "aescbc k1 writes and identity reads",
    "aescbc k2 writes and aescbc k1, identity reads",
  );
  agree({}, plain);
  agree(plain, one);
  agree(one, prepared);
  agree(prepared, two);
  differ(
    one,
    rule(["*.*"], "aescbc k1", "identity"),
    "the encryption of configmaps",
    "identity writes",
    "aescbc k1 writes and identity reads",
  );
  agree(rule(["*.*"], "kms a", "identity"), rule(["secrets", "configmaps", "*.*"], "kms a", "identity"));
  const some = rule(["widgets.example.org"], "secretbox a", "identity");
  differ({}, some, "the encryption of widgets.example.org", "identity writes", "secretbox a writes and identity reads");
  const rest = rule(["*.example.com"], "aesgcm a", "identity");
  differ({}, rest, "the encryption of custom resources", "identity writes", "aesgcm a writes and identity reads");
});

const kinds = { stores: ["/v1", "apps/v1"], reads: ["/v1", "apps/v1"], featureGates: [], runtimeConfig: [] };

test("each server knows the versions in which the others store objects", () => {
  const next = { ...kinds, stores: ["/v1", "apps/v2"], reads: ["/v1", "apps/v1", "apps/v2"] };
  const between = { ...kinds, reads: ["/v1", "apps/v1", "apps/v2"] };
  const what = "the versions in which objects are stored and that are unknown to the other";
  differ({ kinds }, { kinds: next }, what, "none", "apps/v2");
  agree({ kinds }, { kinds: between });
  agree({ kinds: between }, { kinds: next });
  agree({ kinds }, {});
  agree({ kinds }, { kinds: { ...kinds, featureGates: ["A=true"], runtimeConfig: ["api/beta=true"] } });
});

test("gates and served versions may differ while servers are restarted one by one, and both servers are named", () => {
  const gated = { ...kinds, featureGates: ["A=true", "B=false"] };
  const beta = { ...kinds, runtimeConfig: ["api/beta=true"] };
  const start = "this server and the one at 10.1.0.2:6443 (id-2), which has the same store, differ in ";
  const said = (own: Partial<SharedSettings>, other: Partial<SharedSettings>): readonly string[] =>
    toleratedDifferences({ ...usual, ...own }, peerWith(other)).map((message) => message.split("; ")[0]!);
  assert.deepEqual(said({ kinds: gated }, { kinds }), [
    `${start}--feature-gates: here A=true,B=false, there the defaults`,
  ]);
  assert.deepEqual(said({ kinds: gated }, { kinds: beta }), [
    `${start}--feature-gates: here A=true,B=false, there the defaults`,
    `${start}--runtime-config: here the defaults, there api/beta=true`,
  ]);
  assert.deepEqual(
    [said({ kinds: gated }, { kinds: gated }), said({ kinds: gated }, {}), said({}, { kinds })],
    [[], [], []],
  );
});
