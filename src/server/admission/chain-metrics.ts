/** Metrics of admission plugins and steps, with kube-apiserver's names. */
import type { ObserveStep } from "#admission/chain.ts";
import type { StepObserver } from "#admission/chain-progress.ts";
import { pluginOrder } from "#admission/plugin-order.ts";
import type { Clock } from "#std/clock.ts";
import type { Histogram, Metrics, Summary } from "#std/metrics.ts";
import { QuantileSummary } from "#std/quantile-summary.ts";

/** One run in this many is a sample. */
const runsPerSample = 64;

/** Plugins that upstream does not have are left out. */
export function observeChain(metrics: Metrics, clock: Pick<Clock, "monotonic">): ObserveStep {
  const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
  const plugins = metrics.histogram({
    name: "apiserver_admission_controller_admission_duration_seconds",
    help: "[STABLE] Time that an admission plugin takes, by its name, by operation, by result, and by type: admit or validate.",
    labels: ["name", "operation", "rejected", "type"],
    buckets,
  });
  const labels = ["operation", "rejected", "type"];
  const steps = metrics.histogram({
    name: "apiserver_admission_step_admission_duration_seconds",
    help: "[STABLE] Time that all plugins of a step take, by operation, by result, and by type: admit or validate.",
    labels,
    buckets,
  });
  const summaries = metrics.summary({
    name: "apiserver_admission_step_admission_duration_seconds_summary",
    help: "[ALPHA] Quantiles of the time that all plugins of a step take, by operation, by result, and by type: admit or validate.",
    labels,
    quantiles: [0.5, 0.9, 0.99],
    make: () => new QuantileSummary(5 * 60 * 60_000),
    now: () => clock.monotonic(),
  });
  const known = new Set(pluginOrder);
  return (type, operation, names) => {
    const observer = new StepTimes(clock, names.length, {
      plugin: (index, isRefused) => plugins.with(names[index]!, operation, String(isRefused), type),
      isShown: (index) => known.has(names[index]!),
      step: (isRefused) => ({
        durations: steps.with(operation, String(isRefused), type),
        summary: summaries.with(operation, String(isRefused), type),
      }),
    });
    metrics.beforePrint(() => observer.fold());
    return observer;
  };
}

interface StepMetrics {
  readonly durations: Histogram;
  readonly summary: Summary;
}

/** The metrics of one step, made when they are first needed. */
interface StepFamilies {
  plugin(index: number, isRefused: boolean): Histogram;
  isShown(index: number): boolean;
  step(isRefused: boolean): StepMetrics;
}

/** Times of one step. Runs without a time count with the next sample, or with the last one if they are shown before it. */
class StepTimes implements StepObserver {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #families: StepFamilies;
  #runs = 0;
  /** The runs without a time in which all plugins answered at once. */
  #allPassed = 0;
  /** The other answers of each plugin without a time, and its last sample in milliseconds. */
  readonly #waiting: Float64Array;
  readonly #lastMs: Float64Array;
  /** The runs of the step without a time, and the last sample. */
  #stepsWaiting = 0;
  #lastStepMs = 0;
  #accepted: StepMetrics | undefined;
  readonly #acceptedPlugins: (Histogram | undefined)[] = [];

  constructor(clock: Pick<Clock, "monotonic">, plugins: number, families: StepFamilies) {
    this.#clock = clock;
    this.#families = families;
    this.#waiting = new Float64Array(plugins);
    this.#lastMs = new Float64Array(plugins);
  }

  now(): number {
    return this.#clock.monotonic();
  }

  isSample(): boolean {
    const isSample = this.#runs++ % runsPerSample === 0;
    if (isSample) this.#spread();
    return isSample;
  }

  allPassed(): void {
    this.#allPassed += 1;
  }

  passed(plugin: number, ms?: number): void {
    this.#waiting[plugin]! += 1;
    if (ms === undefined) return;
    this.#lastMs[plugin] = ms;
    this.#show(plugin);
  }

  ended(plugin: number, isRefused: boolean, ms = this.#lastMs[plugin]!): void {
    if (this.#families.isShown(plugin)) this.#families.plugin(plugin, isRefused).observe(ms / 1000);
  }

  stepEnded(isRefused: boolean, isSample: boolean, ms?: number): void {
    if (isRefused) this.#showStep(this.#families.step(true), ms ?? this.#lastStepMs, 1);
    else if (ms === undefined) this.#stepsWaiting += 1;
    else if (isSample) {
      this.#lastStepMs = ms;
      this.#stepsWaiting += 1;
      this.#showSteps();
    } else this.#showStep(this.#step(), ms, 1);
  }

  /** Shows what waits for a sample. */
  fold(): void {
    this.#spread();
    for (const plugin of this.#waiting.keys()) this.#show(plugin);
    this.#showSteps();
  }

  #step(): StepMetrics {
    return (this.#accepted ??= this.#families.step(false));
  }

  #spread(): void {
    if (this.#allPassed === 0) return;
    for (const plugin of this.#waiting.keys()) this.#waiting[plugin]! += this.#allPassed;
    this.#allPassed = 0;
  }

  #show(plugin: number): void {
    const times = this.#waiting[plugin]!;
    if (times > 0 && this.#families.isShown(plugin)) {
      const accepted = (this.#acceptedPlugins[plugin] ??= this.#families.plugin(plugin, false));
      accepted.observe(this.#lastMs[plugin]! / 1000, times);
    }
    this.#waiting[plugin] = 0;
  }

  #showSteps(): void {
    if (this.#stepsWaiting > 0) this.#showStep(this.#step(), this.#lastStepMs, this.#stepsWaiting);
    this.#stepsWaiting = 0;
  }

  #showStep({ durations, summary }: StepMetrics, ms: number, times: number): void {
    durations.observe(ms / 1000, times);
    summary.observe(ms / 1000, this.#clock.monotonic(), times);
  }
}
