/** Amended recordings: recorded answers change where an amendment says so, and other answers cannot be amended. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../harness.ts";
import { writeAmendedRecordings } from "./amendments.ts";

const recordings = (): { from: string; to: string } => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "golden"));
  const answers = [{ status: 200 }, { status: 500, body: { code: 500, message: "no" } }];
  writeFileSync(join(folder, "golden/core.json"), JSON.stringify({ "it fails": answers }));
  return { from: join(folder, "golden"), to: join(folder, "amended") };
};

const amend = (answers: Readonly<Record<string, Readonly<Record<string, unknown>>>>, name = "it fails"): unknown => {
  const { from, to } = recordings();
  writeAmendedRecordings(from, to, [{ reason: "the specification", recorded: { core: { [name]: answers } } }]);
  return JSON.parse(readFileSync(join(to, "core.json"), "utf8"));
};

test("only the named fields are amended, everything else stays as recorded", () => {
  assert.deepEqual(amend({ 1: { status: 400, "body.code": 400, "body.reason": "BadRequest" } }), {
    "it fails": [{ status: 200 }, { status: 400, body: { code: 400, message: "no", reason: "BadRequest" } }],
  });
});

test("an answer that is not recorded, or needs no amendment, cannot be amended", () => {
  assert.throws(() => amend({ 2: { status: 400 } }), /nothing is recorded for core: it fails/);
  assert.throws(() => amend({ 1: { status: 400 } }, "it works"), /nothing is recorded for core: it works/);
  assert.throws(() => amend({ 0: { status: 200 } }), /status is recorded so for core: it fails/);
});
