/** Subsets of Endpoints, and truncation when there are too many addresses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointPort } from "#api/core/v1.ts";
import { type PortAddress, subsetsOf, truncateSubsets } from "./subsets.ts";

const port = (number: number): EndpointPort => ({ port: number, protocol: "TCP" });
const entry = (ip: string, number: number, isReady = true): PortAddress => ({
  port: port(number),
  address: { ip, targetRef: { kind: "Pod", uid: ip } },
  isReady,
});

/** Returns the addresses, those that are not ready, and the ports. */
const summarize = (subsets: ReturnType<typeof subsetsOf>) =>
  subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
    addresses.map(({ ip }) => ip),
    notReadyAddresses.map(({ ip }) => ip),
    ports.map(({ port: number }) => number),
  ]);

test("ports that have the same addresses share a subset", () => {
  const entries = [entry("b", 80), entry("b", 443), entry("a", 80), entry("a", 443), entry("a", 9000)];
  assert.deepEqual(summarize(subsetsOf(entries)), [
    [["a", "b"], [], [80, 443]],
    [["a"], [], [9000]],
  ]);
});

test("addresses that are not ready are told apart", () => {
  assert.deepEqual(summarize(subsetsOf([entry("a", 80), entry("b", 80, false)])), [[["a"], ["b"], [80]]]);
});

test("an address without ports is an address", () => {
  const bare: PortAddress = { port: undefined, address: { ip: "a" }, isReady: true };
  assert.deepEqual(subsetsOf([bare]), [{ addresses: [{ ip: "a" }] }]);
});

test("beyond the bound, ready addresses stay first, and each subset gives its share", () => {
  const many = (count: number, number: number, isReady: boolean): PortAddress[] =>
    Array.from({ length: count }, (_, at) => entry(`${number} ${isReady} ${at}`, number, isReady));
  const subsets = subsetsOf([...many(30, 1, true), ...many(10, 2, true), ...many(20, 2, false)]);
  const lengths = (max: number) =>
    truncateSubsets(subsets, max)?.map(({ addresses = [], notReadyAddresses = [] }) => [
      addresses.length,
      notReadyAddresses.length,
    ]);
  assert.equal(lengths(60), undefined);
  assert.deepEqual(lengths(50), [
    [30, 0],
    [10, 10],
  ]);
  assert.deepEqual(lengths(20), [
    [15, 0],
    [5, 0],
  ]);
});
