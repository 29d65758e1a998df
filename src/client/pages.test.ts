/** Lists in pages, of which some expire. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Status } from "#meta/status-error.ts";
import { ApiError } from "./api-error.ts";
import type { ObjectList } from "./rest-client.ts";
import { inPages, pagesOf } from "./pages.ts";

const page = (names: string, token = ""): ObjectList => ({
  metadata: { resourceVersion: "1", continue: token },
  items: [...names].map((name) => ({ metadata: { name, uid: `uid of ${name}` } })),
});

const expired = (token?: string): ApiError => {
  const metadata = token === undefined ? {} : { continue: token };
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata,
    status: "Failure",
    code: 410,
    reason: "Expired",
  };
  return new ApiError({ method: "GET", path: "/api/v1/pods" }, status);
};

/** Lists over these answers, in turn; an answer is a page or an error. Returns the names, and the tokens asked for. */
async function listOf(answers: readonly (ObjectList | ApiError)[]): Promise<[names: string, tokens: string[]]> {
  const tokens: string[] = [];
  const objects = await Array.fromAsync(
    inPages<ApiObject>((token) => {
      const answer = answers[tokens.length]!;
      tokens.push(token);
      return answer instanceof ApiError ? Promise.reject(answer) : Promise.resolve(answer);
    }),
  );
  return [objects.map(({ metadata }) => metadata.name).join(""), tokens];
}

void test("after an expired page, a list goes on with the token that the server gives", async () => {
  assert.deepEqual(await listOf([page("ab", "2"), expired("now"), page("de")]), ["abde", ["", "2", "now"]]);
});

void test("without such a token a list begins again, and yields nothing twice", async () => {
  const answers = [page("ab", "2"), expired(), page("Ab", "3"), page("cd", "4"), expired(), page("abcdef")];
  assert.deepEqual(await listOf(answers), ["abAcdef", ["", "2", "", "3", "4", ""]]);
});

void test("a list that never gets further fails", async () => {
  const again = [page("ab", "2"), expired()];
  await assert.rejects(listOf([...again, ...again, ...again, ...again, ...again]), ApiError);
  await assert.rejects(listOf([expired()]), ApiError);
});

void test("a server that lets each page expire at once is not asked without end", async () => {
  await assert.rejects(listOf([page("ab", "2"), ...Array.from({ length: 100 }, () => expired("again"))]), ApiError);
});

void test("a list without objects may have null as its items", async () => {
  const empty = { ...page("", "2"), items: null } as unknown as ObjectList; // as servers written in Go answer
  assert.deepEqual(await listOf([empty, page("a")]), ["a", ["", "2"]]);
});

test("a list that has no end is given up", async () => {
  const count = async (tokenOf: (count: number) => string): Promise<number> => {
    let count = 0;
    const read = () => Promise.resolve(page("", tokenOf(++count)));
    await assert.rejects(async () => {
      for await (const _ of pagesOf(read));
    }, /has no end/);
    const ofPages = count;
    await assert.rejects(Array.fromAsync(inPages(read)), /has no end/);
    assert.equal(count, 2 * ofPages);
    return ofPages;
  };
  assert.equal(await count(() => "same"), 2);
  assert.equal(await count(String), 20_000);
});

test("a long list in short pages comes to its end", async () => {
  let count = 0;
  const read = () => Promise.resolve(page("", ++count < 20_001 ? String(count) : ""));
  assert.deepEqual(await Array.fromAsync(inPages(read, 1)), []);
  assert.equal(count, 20_001);
});
