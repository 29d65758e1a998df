/** The default limits of connections, and the log of connections above them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { connectionLimits, connectionRefusals } from "./connection-limits.ts";

const unset = { connectionsMax: 0, connectionsPerAddressMax: 0, connectionsPerUserMax: 0, connectionsPerPlaneMax: 0 };

test("by default connections leave files for other uses, and one address, user or plane leaves half to others", () => {
  const expected = {
    connections: 15_000,
    connectionsPerAddress: 7_500,
    connectionsPerUser: 7_500,
    connectionsPerPlane: 7_500,
  };
  assert.deepEqual(connectionLimits(unset, 20_000), expected);
  assert.equal(connectionLimits(unset, 1_048_576).connections, 16_384);
  assert.equal(connectionLimits({ ...unset, connectionsMax: 100_000 }, 1_048_576).connections, 100_000);
  assert.equal(connectionLimits({ ...unset, connectionsMax: 1 }, 20_000).connectionsPerUser, 1);
  const own = {
    connectionsMax: 100,
    connectionsPerAddressMax: 80,
    connectionsPerUserMax: 70,
    connectionsPerPlaneMax: 60,
  };
  const limits = { connections: 100, connectionsPerAddress: 80, connectionsPerUser: 70, connectionsPerPlane: 60 };
  assert.deepEqual(connectionLimits(own, 20_000), limits);
});

test("refused connections are counted, and told of now and then", () => {
  const metrics = new Metrics();
  const clock = new FakeClock();
  const told: object[] = [];
  const refused = connectionRefusals(metrics, clock, { warn: (fields: object) => void told.push(fields) });
  for (let count = 0; count < 1000; count++) refused("address", "10.0.0.1");
  refused("user", "eve");
  clock.advance(10_000);
  refused("address", "10.0.0.2");
  assert.deepEqual(told, [
    { bound: "address", of: "10.0.0.1" },
    { bound: "user", of: "eve" },
    { bound: "address", of: "10.0.0.2" },
  ]);
  const text = metrics.print();
  assert.match(text, /binnacle_connections_refused_total\{bound="address"\} 1001/);
  assert.match(text, /binnacle_connections_refused_total\{bound="user"\} 1/);
});
