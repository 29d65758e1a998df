/** Runs are joined once for all that ask, until they change or there are too many of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedRuns, KeptRuns, type Run } from "./kept-runs.ts";

const keys = [{}, {}, {}, {}];

/** Runs of a body, and how often each of them was joined. */
function body(marks: readonly number[], length = 10): { readonly runs: Run[]; readonly made: number[] } {
  const made = marks.map(() => 0);
  const runs = marks.map((mark, i) => ({
    key: keys[i],
    mark: [mark],
    bytes(): Buffer {
      made[i]!++;
      return Buffer.alloc(length, String(mark));
    },
  }));
  return { runs, made };
}

const textOf = (runs: Iterable<Run>, kept: KeptRuns<Buffer>): string =>
  Buffer.concat([...joinedRuns(runs, kept)]).toString();

void test("a run is joined once, and anew when its mark is another", () => {
  const kept = new KeptRuns<Buffer>(1e6);
  const first = body([1, 2, 3], 2);
  assert.equal(textOf(first.runs, kept), "112233");
  assert.equal(textOf(first.runs, kept), "112233");
  assert.deepEqual(first.made, [1, 1, 1]);
  const changed = body([1, 4, 3], 2);
  assert.equal(textOf(changed.runs, kept), "114433");
  assert.deepEqual(changed.made, [0, 1, 0]);
  const longer = { ...first.runs[0]!, mark: [1, 9] };
  assert.equal(kept.find(longer), undefined);
});

void test("a run without a key is joined every time", () => {
  const kept = new KeptRuns<Buffer>(1e6);
  const { runs, made } = body([1]);
  const unkept = runs.map((run) => ({ ...run, key: undefined }));
  textOf(unkept, kept);
  textOf(unkept, kept);
  assert.deepEqual(made, [2]);
});

void test("what is kept stays within its budget", () => {
  const kept = new KeptRuns<Buffer>(2500);
  const { runs, made } = body([1, 2, 3, 4], 1000);
  textOf(runs, kept);
  textOf(runs, kept);
  assert.deepEqual(made, [2, 2, 2, 2]);
});
