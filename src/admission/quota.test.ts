/** Charges to quotas: batches, conflicts, and counts beside them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceQuota } from "#api/core/v1.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { conflict, notFound, StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import type { AdmissionAttributes } from "./plugin.ts";
import { type ChargeOptions, type Measurement, Quotas } from "./quota.ts";

const secrets = {
  resource: { group: "", version: "v1", resource: "secrets" },
  kind: { group: "", version: "v1", kind: "Secret" },
} as const;

/** A namespace with a quota on secrets, whose writes a test sees. */
class QuotaFixture {
  readonly quotas: Quotas;
  readonly written: string[] = [];
  options: ChargeOptions = { limited: [], write: (quota) => this.write(quota) };
  version = 1;
  /** Runs when a write has met another version of the quota. */
  caughtUp: () => Promise<void> | void = () => undefined;
  /** Runs before a write takes effect. */
  meanwhile: () => Promise<void> | void = () => undefined;

  constructor(hard: string, used: string, giveWay?: () => Promise<void>) {
    this.quotas = new Quotas({
      domain: kubernetesDomain,
      clock: new FakeClock(),
      hasDevices: false,
      revision: () => this.version,
      caughtUp: () => this.caughtUp(),
      giveWay,
    });
    this.store({ hard: { secrets: hard }, used: { secrets: used } });
  }

  store(status: ResourceQuota["status"], spec: ResourceQuota["spec"] = { hard: status.hard ?? {} }): void {
    const metadata = { namespace: "n", name: "q", uid: "u", resourceVersion: `${++this.version}` };
    this.quotas.set("n", "q", { metadata, spec, status });
  }

  async write({ metadata, status }: ResourceQuota): Promise<void> {
    const { meanwhile } = this;
    this.meanwhile = () => undefined;
    await meanwhile();
    await new Promise((resolve) => setImmediate(resolve));
    if (metadata.resourceVersion !== this.stored.metadata.resourceVersion) throw conflict(quotaResource, "q", "newer");
    this.written.push(status.used?.["secrets"] ?? "");
    this.store(status);
  }

  get stored(): ResourceQuota {
    return this.quotas.current("n", "q")!;
  }

  get used(): string | undefined {
    return this.stored.status.used?.["secrets"];
  }

  /** Charges a secret; `end` tells that the request has been handled. */
  ask(name: string): { readonly answer: Promise<void>; end(isSuccess: boolean): void } {
    const object: Unstructured = { metadata: { name, namespace: "n" } };
    const callbacks: ((isSuccess: boolean) => void)[] = [];
    const base = attributesOf(object, { ...secrets, name });
    const context = {
      ...base.context,
      whenDone: (callback: (isSuccess: boolean) => void): void => void callbacks.push(callback),
    };
    const attributes: AdmissionAttributes = { ...base, context };
    const answer = (async () => this.quotas.charge(attributes, this.options))();
    answer.catch(() => undefined);
    return {
      answer,
      end(isSuccess) {
        for (const callback of callbacks) callback(isSuccess);
      },
    };
  }

  /** Finishes a count with these secrets. */
  count(counted: Measurement, names: readonly string[]): string | undefined {
    for (const part of counted.parts) {
      for (const name of names) part.add({ metadata: { name } });
      part.done();
    }
    return counted.statusOf(this.stored)?.used?.["secrets"];
  }
}

const quotaResource = { group: "", resource: "resourcequotas" };

const messageOf = async (answer: Promise<void>): Promise<string> => {
  try {
    await answer;
    return "";
  } catch (error) {
    if (error instanceof StatusError) return error.status.message ?? "";
    throw error;
  }
};

test("charges that arrive together are written together, and those that do not fit are refused", async () => {
  const fixture = new QuotaFixture("5", "1");
  const messages = await Promise.all(Array.from({ length: 64 }, (_, i) => messageOf(fixture.ask(`s${i}`).answer)));
  assert.equal(messages.filter((message) => message === "").length, 4);
  assert.match(messages.at(-1)!, /exceeded quota: q, requested: secrets=1, used: secrets=\d, limited: secrets=5$/);
  assert.equal(fixture.used, "5");
  assert.ok(fixture.written.length <= 2, `written ${fixture.written.length} times`);
});

test("a charge is checked again when another writer was faster", async () => {
  const fixture = new QuotaFixture("2", "0");
  fixture.meanwhile = () => fixture.store({ hard: { secrets: "2" }, used: { secrets: "1" } });
  assert.equal(await messageOf(fixture.ask("one").answer), "");
  assert.equal(fixture.used, "2");
  fixture.store({ hard: { secrets: "3" }, used: { secrets: "2" } });
  fixture.meanwhile = () => fixture.store({ hard: { secrets: "3" }, used: { secrets: "3" } });
  assert.match(await messageOf(fixture.ask("two").answer), /exceeded quota/);
  assert.equal(fixture.used, "3");
});

test("where other servers charge the same quota, a charge gives way after each attempt, and goes on for longer", async () => {
  let turns = 0;
  const fixture = new QuotaFixture("50", "0", () => Promise.resolve(void turns++));
  const beFaster = (): void => {
    if (turns < 30) fixture.meanwhile = beFaster;
    fixture.store({ hard: { secrets: "50" }, used: { secrets: String(turns) } });
  };
  fixture.meanwhile = beFaster;
  assert.equal(await messageOf(fixture.ask("one").answer), "");
  assert.equal(fixture.used, "31");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(turns, 32);
});

test("a charge waits until it knows the version that another writer has stored", async () => {
  const fixture = new QuotaFixture("2", "0");
  const { options } = fixture;
  const known = Promise.withResolvers<void>();
  let tries = 0;
  // The known quota stays behind the stored one.
  const write: ChargeOptions["write"] = async (quota) => {
    tries++;
    if (quota.spec.hard?.["secrets"] !== "3") throw conflict(quotaResource, "q", "newer");
    return options.write(quota);
  };
  fixture.options = { ...options, write };
  fixture.caughtUp = () => known.promise;
  const { answer } = fixture.ask("one");
  while (tries === 0) await new Promise((resolve) => setImmediate(resolve));
  fixture.store({ hard: { secrets: "3" }, used: { secrets: "2" } });
  known.resolve();
  assert.equal(await messageOf(answer), "");
  assert.deepEqual([fixture.used, tries], ["3", 2]);
});

test("a deleted quota charges nothing, even before its deletion is seen", async () => {
  const fixture = new QuotaFixture("2", "0");
  const write = async (): Promise<never> => {
    throw notFound(quotaResource, "q");
  };
  fixture.options = { limited: [], write };
  assert.equal(await messageOf(fixture.ask("one").answer), "");
});

test("a quota that is deleted meanwhile charges nothing", async () => {
  const fixture = new QuotaFixture("2", "0");
  fixture.meanwhile = () => {
    fixture.quotas.set("n", "q", undefined);
    throw notFound(quotaResource, "q");
  };
  assert.equal(await messageOf(fixture.ask("one").answer), "");
});

test("a count adds what is charged and not stored yet, once", async () => {
  const fixture = new QuotaFixture("9", "5");
  const [first, second] = [fixture.ask("first"), fixture.ask("second")];
  await Promise.all([first.answer, second.answer]);
  assert.equal(fixture.used, "7");
  const counted = (await fixture.quotas.measure("n", "q"))!;
  // One of the writes is stored; of the five secrets before, two have gone.
  assert.equal(fixture.count(counted, ["a", "b", "c", "first"]), "5");
  first.end(true);
  second.end(true);
  const after = (await fixture.quotas.measure("n", "q"))!;
  assert.equal(fixture.count(after, ["a", "b", "c", "first", "second"]), "5");
});

test("a charge made while objects are counted is kept", async () => {
  const fixture = new QuotaFixture("9", "5");
  const counted = (await fixture.quotas.measure("n", "q"))!;
  await fixture.ask("later").answer;
  assert.equal(fixture.used, "6");
  assert.equal(fixture.count(counted, ["a", "b", "c"]), "4");
});

test("the charge of a write that failed is reported", async () => {
  const fixture = new QuotaFixture("9", "5");
  const lines: string[] = [];
  fixture.quotas.onOvercharged((namespace) => lines.push(namespace));
  const [failed, stored] = [fixture.ask("failed"), fixture.ask("stored")];
  await Promise.all([failed.answer, stored.answer]);
  stored.end(true);
  assert.deepEqual(lines, []);
  failed.end(false);
  assert.deepEqual(lines, ["n"]);
});

test("where no quota is, nothing is read and no promise is made", () => {
  const fixture = new QuotaFixture("9", "5");
  const elsewhere = {
    ...attributesOf(undefined, { ...secrets, namespace: "other", name: "s" }),
    get object(): undefined {
      throw new Error("the object must not be read");
    },
  };
  assert.equal(fixture.quotas.charge(elsewhere, fixture.options), undefined);
});
