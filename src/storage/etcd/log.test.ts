/** The contracts of logs and caches over the etcd in memory. Those over a real one are in `test/scale-out/`. */
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { ForwardingLog } from "../forwarding-log.ts";
import { logContract } from "../log.contract.ts";
import type { LogStore } from "../log-store.ts";
import { storeContract } from "../store.contract.ts";
import { LogWatchCache } from "../watch-cache/log-watch-cache.ts";
import { FakeEtcdClient } from "./fake-etcd-client-for-tests.ts";
import { FakeEtcd } from "./fake-etcd-for-tests.ts";
import { EtcdKeys } from "./keys.ts";
import { EtcdLog } from "./log.ts";

/** Time that passes as fast as it can, until it is stopped. */
class PassingTime {
  readonly clock = new FakeClock();
  #isStopped = false;

  constructor() {
    this.#pass();
  }

  stop(): void {
    this.#isStopped = true;
  }

  #pass(): void {
    if (this.#isStopped) return;
    this.clock.advanceToNext();
    setImmediate(() => this.#pass());
  }
}

/** A log on an etcd of its own, whose time passes until the log is closed. */
class TimedLog extends ForwardingLog {
  readonly #time: PassingTime;

  constructor(log: LogStore, time: PassingTime) {
    super(log);
    this.#time = time;
  }

  static async open(): Promise<TimedLog> {
    const time = new PassingTime();
    const { clock } = time;
    const random = seededRandom(1);
    const resources = ["core/pods", "core/nodes", "/nodes", "/pod", "/pods", "/podsother", "/podtemplates"];
    const log = await EtcdLog.open({
      client: new FakeEtcdClient(new FakeEtcd({ clock, random, requestBytesMax: 8 * 1024 * 1024 }), "a", 1),
      keys: new EtcdKeys("registry", new Map(resources.map((resource) => [resource, resource.replace("/", ".")]))),
      clock,
      random,
      readForeign: (_key, bytes) => bytes,
      compactionIntervalMs: 0,
      leaseReuseSeconds: 60,
    });
    return new TimedLog(log, time);
  }

  override async close(): Promise<void> {
    await super.close();
    this.#time.stop();
  }
}

logContract({
  name: "etcd in memory",
  async open(follower) {
    const log = await TimedLog.open();
    await log.follow(follower);
    return log;
  },
});

storeContract({
  name: "etcd in memory",
  open: async (options) => LogWatchCache.open(await TimedLog.open(), options),
  hasLog: true,
  keepsTime: false,
  keepsNotes: false,
});
