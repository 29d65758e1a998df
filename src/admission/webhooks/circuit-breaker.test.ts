/** Tests when a webhook without answers is called again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";

test("after a timeout there are no calls for ten seconds, then one at a time until there is an answer", () => {
  const clock = new FakeClock();
  const breaker = new CircuitBreaker(clock);
  breaker.attempt()!("timeout");
  assert.equal(breaker.isOpen, true);
  clock.advance(9_999);
  assert.equal(breaker.attempt(), undefined);
  clock.advance(1);
  const trial = breaker.attempt();
  assert.ok(trial);
  assert.equal(breaker.attempt(), undefined);
  trial("answered");
  assert.equal(breaker.isOpen, false);
  assert.ok(breaker.attempt());
  assert.ok(breaker.attempt());
});

test("each pause without an answer at its end is followed by one twice as long, up to a minute", () => {
  const clock = new FakeClock();
  const breaker = new CircuitBreaker(clock);
  breaker.attempt()!("timeout");
  for (const pauseMs of [10_000, 20_000, 40_000, 60_000, 60_000]) {
    clock.advance(pauseMs - 1);
    assert.equal(breaker.attempt(), undefined, String(pauseMs));
    clock.advance(1);
    breaker.attempt()!("timeout");
  }
});

test("calls that fail together begin one pause", () => {
  const clock = new FakeClock();
  const breaker = new CircuitBreaker(clock);
  const calls = [breaker.attempt()!, breaker.attempt()!, breaker.attempt()!];
  for (const end of calls) end("timeout");
  clock.advance(10_000);
  assert.ok(breaker.attempt());
});

test("a trial that its caller gave up leaves the next one free, and decides nothing", () => {
  const clock = new FakeClock();
  const breaker = new CircuitBreaker(clock);
  breaker.attempt()!("timeout");
  clock.advance(10_000);
  breaker.attempt()!("none");
  assert.equal(breaker.isOpen, true);
  assert.ok(breaker.attempt());
});
