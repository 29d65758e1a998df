/**
 * Servers for tests that share one log, as servers of one etcd do. They run in this process, each with a cache of its
 * own that hears of writes up to some milliseconds after they were made.
 */
import type { ServerSettings } from "#server/options.ts";
import type { Instruments } from "#server/instruments.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import { openLog } from "#std/log.ts";
import { seededRandom } from "#std/random.ts";
import { DelayedLog } from "#storage/delayed-log-for-tests.ts";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import { Api, type Domain, gated, openServer, ownObjectsOnly } from "../harness.ts";
import { sharedCredentials } from "./shared-credentials.ts";

export interface SharingServer {
  readonly api: Api;
  readonly url: string;
  /** The log as this server has it. */
  readonly store: ReturnType<SharedLog["open"]>;
  /** The lines of the log file so far, as JSON. */
  readonly logged: readonly string[];
  /** Makes the server hear of no changes any more, while the others think that it is gone and do not wait for it. */
  deafen(): void;
  close(): Promise<void>;
}

interface SharedOptions {
  /** The number of servers. */
  readonly count?: number;
  readonly domain?: Domain;
  readonly settings?: ServerSettings;
  /** The longest time in milliseconds between a write and its arrival at a server. */
  readonly latencyMsMax?: number;
  /** The log, if it has a content already. */
  readonly log?: SharedLog;
  /** Whether servers wait for each other's changes for minutes, so that a test can hold the changes back. */
  readonly isPatient?: boolean;
}

const startMs = systemClock.now();

/** A clock that goes forty times as slowly as that of the machine, except that short pauses end as they do there. */
const slowClock: Clock = {
  now: () => startMs + systemClock.monotonic() / 40,
  monotonic: () => systemClock.monotonic() / 40,
  after: (delayMs, callback) => systemClock.after(delayMs < 1000 ? delayMs : 40 * delayMs, callback),
};

/** Starts servers together on one log. They are closed at the end of the file. */
export async function openServers(options: SharedOptions = {}): Promise<readonly SharingServer[]> {
  const { count = 2, domain = "k8s.io", settings = {}, latencyMsMax = 5, log = new SharedLog() } = options;
  const clock = options.isPatient === true ? slowClock : systemClock;
  const credentials = await sharedCredentials();
  const open = async (at: number): Promise<SharingServer> => {
    const store = log.open();
    const logged: string[] = [];
    const instruments: Instruments = {
      connectionClock: systemClock,
      inBackground: false,
      wrapHandler: (next) => next,
      wrapLog: () => new DelayedLog(store, seededRandom(at + 1), latencyMsMax),
      assembled: () => undefined,
    };
    const server = await openServer(
      domain,
      { ...gated, ...credentials, controllers: ownObjectsOnly, ...settings },
      { clock, instruments, log: openLog({ format: "json", verbosity: 2, write: (line) => logged.push(line) }) },
    );
    const deafen = (): void => {
      store.isDeaf = true;
      log.expireKeysOf(store);
      // A record that is on its way arrives later.
      const timer = setInterval(() => {
        if (store.isDeaf) log.expireKeysOf(store);
        else clearInterval(timer);
      }, 5).unref();
    };
    return { api: new Api(server), url: server.url, store, logged, deafen, close: () => server.close() };
  };
  return Promise.all(Array.from({ length: count }, (_, at) => open(at)));
}
