/** The writes that bring slices to the desired state. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/discovery/v1.ts";
import { planSlices, type SliceGroup, type SlicePlan } from "./slice-plan.ts";

const port = (number: number): EndpointPort => ({ name: "p", protocol: "TCP", port: number });
const endpoint = (at: number, ready = true): Endpoint => ({
  addresses: [`10.0.${Math.floor(at / 256)}.${at % 256}`],
  conditions: { ready },
  targetRef: { kind: "Pod", namespace: "n", name: `p${at}`, uid: `u${at}` },
});
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
const group = (ats: readonly number[], ports = [port(80)], isPlaceholder = false): SliceGroup => ({
  addressType: "IPv4",
  ports,
  endpoints: ats.map((at) => endpoint(at)),
  isPlaceholder,
});
const slice = (name: string, ats: readonly number[], ports = [port(80)]): EndpointSlice => ({
  metadata: { name },
  addressType: "IPv4",
  ports,
  endpoints: ats.map((at) => endpoint(at)),
});

/**
 * Returns the numbers of endpoints that are written: of new slices, then of changed ones by name; and the names of
 * removed ones.
 */
const summarize = ({ create, update, remove }: SlicePlan) => ({
  create: create.map(({ endpoints }) => endpoints.length),
  update: Object.fromEntries(update.map((one) => [one.slice.metadata.name, one.content.endpoints.length])),
  remove: remove.map(({ metadata }) => metadata.name),
});

const plan = (existing: readonly EndpointSlice[], groups: readonly SliceGroup[], isOutdated = false) =>
  planSlices(existing, groups, 100, () => isOutdated);

test("new endpoints fill whole slices", () => {
  assert.deepEqual(summarize(plan([], [group(range(0, 250))])), { create: [100, 100, 50], update: {}, remove: [] });
});

test("nothing is written when everything is there, in any order of endpoints and ports", () => {
  const ports = [port(80), { ...port(443), name: "tls" }];
  const existing = [slice("a", range(0, 100), ports), slice("b", range(100, 150), ports)];
  const wanted = group(range(0, 150).reverse(), ports.toReversed());
  assert.deepEqual(summarize(plan(existing, [wanted])), { create: [], update: {}, remove: [] });
});

test("one more endpoint changes one slice: one that changes anyway, else the fullest with room, else a new one", () => {
  const existing = [slice("full", range(0, 100)), slice("some", range(100, 150)), slice("more", range(150, 230))];
  const at = (...gone: number[]) => [group([...range(0, 230).filter((one) => !gone.includes(one)), 300])];
  assert.deepEqual(summarize(plan(existing, at())).update, { more: 81 });
  assert.deepEqual(summarize(plan(existing, at(5))).update, { full: 100 });
  const full = [slice("full", range(0, 100))];
  assert.deepEqual(summarize(plan(full, [group(range(0, 101))])), { create: [1], update: {}, remove: [] });
});

test("an endpoint that changed is written where it is; a slice without endpoints goes", () => {
  const existing = [slice("a", [1, 2]), slice("b", [3])];
  const changed = { ...group([]), endpoints: [endpoint(1, false), endpoint(2)] };
  const { update, remove } = plan(existing, [changed]);
  assert.deepEqual(
    update.map(({ content }) => content.endpoints.map(({ conditions }) => conditions.ready)),
    [[false, true]],
  );
  assert.deepEqual(
    remove.map(({ metadata }) => metadata.name),
    ["b"],
  );
});

test("other ports are written over the slice that had the old ones", () => {
  const { create, update, remove } = plan([slice("a", [1, 2])], [group([1, 2], [port(81)])]);
  assert.deepEqual([create, remove], [[], []]);
  assert.deepEqual([update[0]?.slice.metadata.name, update[0]?.content.ports], ["a", [port(81)]]);
});

test("where nothing is left, one empty slice stays, and stays as it is", () => {
  const empty = group([], [], true);
  assert.deepEqual(summarize(plan([], [empty])), { create: [0], update: {}, remove: [] });
  assert.deepEqual(summarize(plan([slice("a", [], [])], [empty])), { create: [], update: {}, remove: [] });
  assert.deepEqual(summarize(plan([slice("a", [1]), slice("b", [2])], [empty])), {
    create: [],
    update: { a: 0 },
    remove: ["b"],
  });
});

test("slices of a family that the service no longer has go", () => {
  const six = { ...slice("six", [1]), addressType: "IPv6" };
  assert.deepEqual(summarize(plan([six, slice("four", [1])], [group([1])])).remove, ["six"]);
});

test("slices with too many endpoints lose some to others", () => {
  const { create, update } = summarize(
    planSlices([slice("a", range(0, 100))], [group(range(0, 100))], 60, () => false),
  );
  assert.deepEqual([create, update], [[40], { a: 60 }]);
});

test("a slice that is outdated otherwise is written once", () => {
  assert.deepEqual(summarize(plan([slice("a", [1])], [group([1])], true)).update, { a: 1 });
});
