/**
 * Random requests that come, end, give up and last, with levels and schemas that change. After each step no level
 * exceeds its seats and no request waits for free seats; at the end nothing is left.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlowSchema, PriorityLevelConfiguration } from "#api/flowcontrol/v1.ts";
import { bootstrapFlowControl } from "#api/bootstrap-flow-control.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { type Claimed, FlowControl } from "./flow-control.ts";
import { FlowMetrics } from "./flow-metrics.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import { WatchCounts } from "./watch-counts.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 40);
const stepsEach = 400;

const bootstrap = bootstrapFlowControl(kubernetesDomain);
const levelNames = ["a", "b", "c"];
const queueLengthMax = 5;
/** The maximum number of final rounds. Each lasts ten seconds and ends all running requests. */
const patientRounds = 60;

const level = (name: string, random: Random): PriorityLevelConfiguration => {
  const below = (bound: number): number => Math.floor(random.next() * bound);
  const queues = 1 + below(8);
  const queuing = { queues, handSize: 1 + below(Math.min(queues, 3)), queueLengthLimit: queueLengthMax };
  return {
    apiVersion: "v1",
    kind: "PriorityLevelConfiguration",
    metadata: { name },
    spec: {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: below(60),
        lendablePercent: below(101),
        ...(below(2) === 0 ? {} : { borrowingLimitPercent: below(200) }),
        limitResponse: below(3) === 0 ? { type: "Reject" } : { type: "Queue", queuing },
      },
    },
    status: {},
  };
};

const schema = (name: string, to: string): FlowSchema => ({
  apiVersion: "v1",
  kind: "FlowSchema",
  metadata: { name },
  spec: {
    priorityLevelConfiguration: { name: to },
    matchingPrecedence: 50,
    distinguisherMethod: { type: "ByUser" },
    rules: [
      {
        subjects: [{ kind: "Group", group: { name } }],
        resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true }],
      },
    ],
  },
  status: {},
});

class Day {
  readonly #random: Random;
  readonly #clock = new FakeClock();
  readonly #watches = new WatchCounts();
  readonly #metrics = new Metrics();
  readonly #control: FlowControl;
  #open: Claimed[] = [];
  #watching: (() => void)[] = [];

  constructor(random: Random) {
    this.#random = random;
    const work = { watches: this.#watches, objects: () => this.#below(3000) };
    const metrics = new FlowMetrics(this.#metrics);
    const seats = 1 + this.#below(60);
    this.#control = new FlowControl({ clock: this.#clock, metrics, seats, bootstrap, work });
    this.#control.start();
    for (const name of levelNames) this.#control.setSchema(name, schema(name, name));
  }

  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound);
  }

  step(): void {
    const kind = this.#below(20);
    if (kind < 9) this.#come();
    else if (kind < 14) this.#pick()?.queued.end();
    else if (kind < 16) this.#pick()?.queued.giveUp(this.#below(2) === 0 ? "time-out" : "cancelled");
    else if (kind < 18) this.#clock.advance(this.#below(4000));
    else if (kind < 19) this.#configure();
    else this.#watch();
    this.#open = this.#open.filter(({ queued }) => queued.state === "waiting" || queued.state === "executing");
    this.#check();
  }

  #come(): void {
    const verb = ["get", "list", "watch", "update", "delete"][this.#below(5)]!;
    const target = this.#target(verb, verb === "list" ? "" : "x");
    const group = levelNames[this.#below(levelNames.length)]!;
    const groups = this.#below(20) === 0 ? ["system:masters"] : [group, "system:authenticated"];
    const user = { name: `user-${this.#below(6)}`, groups };
    this.#open.push(this.#control.claim({ user, info: target, url: "/x?sendInitialEvents=true" }));
  }

  #target(verb: string, name: string): RequestAttributes {
    const resource = ["pods", "secrets"][this.#below(2)]!;
    const namespace = ["", "n"][this.#below(2)]!;
    return {
      isResourceRequest: true,
      path: "/x",
      verb,
      group: "",
      version: "v1",
      resource,
      subresource: "",
      namespace,
      name,
    };
  }

  #pick(): Claimed | undefined {
    return this.#open[this.#below(this.#open.length)];
  }

  #watch(): void {
    if (this.#below(3) > 0) {
      for (let i = 0; i < 20; i++) this.#watching.push(this.#watches.began(this.#target("watch", ""), "/x"));
    } else this.#watching.splice(0).forEach((ended) => ended());
  }

  #configure(): void {
    const name = levelNames[this.#below(levelNames.length)]!;
    this.#control.setLevel(name, this.#below(3) === 0 ? undefined : level(name, this.#random));
  }

  #check(): void {
    for (const one of this.#control.levels()) {
      const { limit, waiting } = one;
      const waitsIn = one.queues().filter((queue) => queue.waiting.length > 0);
      assert.equal(
        waitsIn.reduce((sum, queue) => sum + queue.waiting.length, 0),
        waiting,
      );
      for (const queue of waitsIn) {
        assert.ok(queue.waiting.length <= queueLengthMax, "a queue is bounded");
        assert.ok(queue.nextAt >= queue.waiting[0]!.arrivedAt, "nothing begins before it came");
      }
      // A request waits because the next one does not fit; a wide one also waits for others of its flow. Figures are
      // slow to read.
      if (waiting === 0 || limit === 0 || this.#below(20) > 0) continue;
      const used = this.#seats(one.config.name, "current_executing_seats");
      const widths = waitsIn.flatMap((queue) => queue.waiting.map(({ width }) => width));
      const most = Math.max(...widths);
      const areNarrow = widths.includes(1);
      assert.ok(used > 0, "a level with seats is at work while somebody waits");
      assert.ok(!areNarrow || used + most > limit, `${used} of ${limit} are used while up to ${most} are wanted`);
    }
  }

  #seats(levelName: string, metric: string): number {
    const lines = this.#metrics.print().matchAll(/^apiserver_flowcontrol_(\w+)\{priority_level="([^"]+)".*\} (\S+)$/gm);
    let sum = 0;
    for (const [, name, of, value] of lines) if (name === metric && of === levelName) sum += Number(value);
    return sum;
  }

  /** Ends all requests. */
  finish(): void {
    for (let round = 0; this.#open.length > 0 && round <= patientRounds; round++) {
      for (const { queued } of this.#open) queued.end();
      this.#clock.advance(10_000);
      this.#open = this.#open.filter(({ queued }) => queued.state === "waiting" || queued.state === "executing");
      if (round < patientRounds) continue;
      // A level without seats never lets its waiting requests run.
      for (const { queued } of this.#open)
        assert.equal(queued.level.limit, 0, "nobody waits for ever for seats there are");
      for (const { queued } of this.#open) queued.giveUp("time-out");
    }
    this.#clock.advance(20_000);
    for (const one of this.#control.levels()) {
      assert.ok(one.isIdle, `${one.config.name} is idle`);
      assert.ok(!one.isQuiescing, `${one.config.name} is still wanted`);
      for (const { executing, seatsInUse, waitingWork } of one.queues()) {
        assert.deepEqual([executing, seatsInUse, waitingWork], [0, 0, 0]);
      }
    }
    const text = this.#metrics.print();
    for (const [line] of text.matchAll(/^apiserver_(?:flowcontrol_)?current_(?:exec|inq)\w+\{.*$/gm)) {
      assert.match(line, / 0$/);
    }
    for (const ended of this.#watching) ended();
    assert.equal(this.#watches.seeing(this.#target("update", "x")), 0);
    this.#control.close();
  }
}

test(`no seat is lost and nobody is forgotten, whatever happens (seed ${seed})`, () => {
  for (let run = 0; run < runs; run++) {
    const day = new Day(seededRandom(seed * 1000 + run));
    for (let step = 0; step < stepsEach; step++) day.step();
    day.finish();
  }
});
