/**
 * Controllers: functions that make the world as objects say, called for every object that changes. `controller` makes
 * one, `run` runs several; `docs/client.md` has examples. The queue, its rates and the names of the metrics are those of
 * controller-runtime.
 */
import { untilAborted } from "#std/abort.ts";
import type { Clock } from "#std/clock.ts";
import { millisecondsOf, type WaitTime } from "#std/go-duration.ts";
import { oneLine } from "#std/printable.ts";
import type { Cluster } from "./cluster.ts";
import type { RunnableController } from "./controllers/definition.ts";
import { eventRecorder } from "./controllers/events.ts";
import { InformerSet } from "./controllers/informers.ts";
import { LeadershipLostError, processIdentity, underLease } from "./controllers/leadership.ts";
import { ControllerMetrics } from "./controllers/metrics.ts";
import { ControllerWorker } from "./controllers/worker.ts";
import type { LeaseTimes } from "./leader-election.ts";

export { inBatches } from "./controllers/batches.ts";
export { type Conditions, isConditionTrue, setCondition } from "./controllers/conditions.ts";
export {
  after,
  type RunnableController,
  controller,
  type ControllerOptions,
  type EventPredicate,
  type Finalizer,
  generationChanged,
  type Lister,
  type ObjectKey,
  type ReconcileContext,
  type Requeue,
  type WatchedKind,
} from "./controllers/definition.ts";
export type { WaitTime } from "#std/go-duration.ts";
export { LeadershipLostError } from "./controllers/leadership.ts";
export { ControllerMetrics } from "./controllers/metrics.ts";
export { referenceTo } from "./event-recorder.ts";
export { keyOf } from "./informer.ts";
export { controllerOf, referenceToOwner } from "./owner.ts";

/** The controller and the object of a failure. */
interface FailurePlace {
  /** The name of the controller; absent for what all share, such as the lease. */
  readonly controller?: string;
  /** The object, `namespace/name`, whose reconcile failed. */
  readonly key?: string;
}

export interface RunOptions {
  /** The lease, `namespace/name`, under which the controllers run: at most one process holds it. Default: none. */
  readonly lease?: string | undefined;
  /** The times of the lease; default: those of client-go, 15 s, 10 s and 2 s. */
  readonly leaseTimes?: LeaseTimes | undefined;
  /** The name of this process in the lease and in events; default: the host and a random part. */
  readonly identity?: string | undefined;
  /** Is given the metrics. */
  readonly metrics?: ControllerMetrics | undefined;
  /** Ends the controllers in order: waiting objects are dropped, and running reconciles end. */
  readonly signal?: AbortSignal | undefined;
  /** The time that reconciles have to end; then the signal of their context is aborted. Default: 30 s. */
  readonly grace?: WaitTime | undefined;
  /** Called with failures, after which everything goes on. Default: they are written to standard error, a line each. */
  readonly failed?: ((error: unknown, place: FailurePlace) => void) | undefined;
}

/** The time that reconciles have after the signal of their context was aborted. */
const lastMs = 5000;

/**
 * Runs controllers until the signal is aborted, and resolves when everything has ended. With a lease it waits until this
 * process leads, and rejects with `LeadershipLostError` when it does not lead any more; a process should end then, and
 * be started again. It never stops because of failures of the cluster.
 */
export async function run(
  cluster: Cluster,
  options: RunOptions,
  controllers: readonly RunnableController[],
): Promise<void> {
  const names = controllers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`two controllers are called ${JSON.stringify(twice)}: give one a name`);
  const { lease, leaseTimes: times, signal = new AbortController().signal, failed = printFailure } = options;
  const identity = options.identity ?? processIdentity();
  const settings = { ...options, identity, signal, failed };
  if (lease === undefined) return runAll(cluster, settings, controllers, new AbortController().signal);
  const election = { lease, identity, times, signal, failed: (error: unknown) => failed(error, {}) };
  await underLease(cluster, election, async (client, lost) => {
    await runAll(client, settings, controllers, lost);
    if (!signal.aborted) throw new LeadershipLostError(lease);
  });
}

interface RunSettings extends RunOptions {
  readonly identity: string;
  readonly signal: AbortSignal;
  readonly failed: (error: unknown, place: FailurePlace) => void;
}

/** Runs the controllers until the signal of the settings, or `lost`, is aborted. */
async function runAll(
  client: Cluster,
  settings: RunSettings,
  controllers: readonly RunnableController[],
  lost: AbortSignal,
): Promise<void> {
  const { identity, signal, failed, metrics = new ControllerMetrics(client.clock), grace = "30s" } = settings;
  const graceMs = millisecondsOf(grace);
  const failedShared = (error: unknown): void => failed(error, {});
  const informers = new InformerSet(client, failedShared);
  const events = eventRecorder({ client, instance: identity.slice(0, 128), failed: failedShared });
  const work = new AbortController();
  lost.addEventListener("abort", () => work.abort(new Error("the lease is lost")), { once: true });
  const stop = untilAborted(AbortSignal.any([signal, lost]));
  const workers = controllers.map(
    (controller) =>
      new ControllerWorker({
        controller,
        client,
        informers,
        events,
        metrics,
        signal: work.signal,
        failed: (error, key) => failed(error, { controller: controller.name, key }),
      }),
  );
  // An informer that is closed before it has its objects rejects; then the run has ended.
  const started = informers.synced().then(
    () => workers.forEach((worker) => worker.start()),
    () => undefined,
  );
  await Promise.race([started, stop]);
  await stop;
  for (const worker of workers) worker.close();
  const drained = Promise.all(workers.map((worker) => worker.drained));
  const ended = Promise.race([drained, untilAborted(work.signal)]);
  if (!(await isWithin(client.clock, graceMs, ended))) work.abort(new Error("the time to end is over"));
  const isDrained = await isWithin(client.clock, lastMs, drained);
  await informers.close();
  await isWithin(client.clock, lastMs, events.close());
  if (isDrained) return;
  const running = workers.flatMap((worker) => worker.running).join(", ");
  throw new Error(`reconciles did not end, although their signal was aborted: ${running}`);
}

/** Whether a promise resolves within a time. */
function isWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => resolve(false));
    void promise.then(() => {
      cancel();
      resolve(true);
    });
  });
}

function printFailure(error: unknown, { controller, key }: FailurePlace): void {
  const where = [controller, key].filter((part) => part !== undefined).join(" ");
  process.stderr.write(`${where === "" ? "controllers" : where}: ${oneLine(String(error))}\n`);
}
