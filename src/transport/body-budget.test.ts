/** The memory budget of large bodies: half for one user or plane, small bodies excluded, returned when requests end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyBudget } from "./body-budget.ts";

const mib = 1024 * 1024;
const refused = { status: { code: 429, reason: "TooManyRequests" } };

function matches(run: () => void): void {
  assert.throws(run, (error: { status?: { code: number } }) => error.status?.code === refused.status.code);
}

test("one user has half of the room, all together have all of it, and what ends gives its part back", () => {
  const budget = new BodyBudget(8 * mib);
  const alice = [budget.open("alice", ""), budget.open("alice", "")];
  for (const share of alice) share.grow(2 * mib);
  const third = budget.open("alice", "");
  matches(() => third.grow(mib));
  budget.open("bob", "").grow(3 * mib);
  const carol = budget.open("carol", "");
  carol.grow(mib / 2);
  matches(() => carol.grow(2 * mib));
  alice[0]!.end();
  carol.grow(2 * mib);
  third.grow(mib);
});

test("users of planes are others than those of the same name elsewhere, and a plane has half of the room", () => {
  const budget = new BodyBudget(8 * mib);
  const [admin, other] = [budget.open("admin", "/planes/a"), budget.open("other", "/planes/a")];
  admin.grow(2 * mib);
  matches(() => budget.open("admin", "/planes/a").grow(mib));
  other.grow(2 * mib);
  matches(() => budget.open("third", "/planes/a").grow(mib));
  budget.open("admin", "/planes/b").grow(2 * mib);
  admin.end();
  budget.open("admin", "").grow(4 * mib);
});

test("small bodies need no room", () => {
  const budget = new BodyBudget(mib);
  budget.open("alice", "").grow(mib / 2);
  for (let i = 0; i < 100; i++) budget.open("alice", "").grow(64 * 1024);
});
