/**
 * Priority and fairness: a flow schema sends each request to a priority level, which has a share of the server's seats.
 * Source: upstream's `util/flowcontrol` (KEP-1040).
 */
import type { FlowSchema, PriorityLevelConfiguration } from "#api/flowcontrol/v1.ts";
import { type BootstrapFlowControl, mandatoryNames } from "#api/bootstrap-flow-control.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";
import { Classifier } from "./classifier.ts";
import type { FlowMetrics, KindTimes, LevelGauges } from "./flow-metrics.ts";
import type { FlowRequest } from "./flow-request.ts";
import { compileFlowSchema, type CompiledSchema } from "./flow-schema.ts";
import { compileLevel } from "./level-config.ts";
import type { LevelConfig } from "./level-config.ts";
import { PriorityLevel } from "./priority-level.ts";
import { divideSeats, seatLimits } from "./seat-limits.ts";
import { dealHand } from "./shuffle-shard.ts";
import type { FlowIdentity, QueuedRequest } from "./queued-request.ts";
import { estimateWork, type WorkSources } from "./work-estimate.ts";

interface FlowControlOptions {
  readonly clock: Clock;
  readonly metrics: FlowMetrics;
  /** The number of all seats of the server. */
  readonly seats: number;
  /** The objects that are in force while none are stored. */
  readonly bootstrap: BootstrapFlowControl;
  readonly work: WorkSources;
}

/** The treatment of requests that match a schema. */
interface Flow {
  readonly schema: CompiledSchema;
  readonly level: PriorityLevel;
  /** Headers that are added to every answer. */
  readonly headers: Readonly<Record<string, string>>;
  readonly flows: Map<string, FlowIdentity>;
}

export interface Claimed {
  readonly flow: Flow;
  readonly queued: QueuedRequest;
}

interface Mandatory {
  readonly levels: readonly LevelConfig[];
  readonly schemas: readonly CompiledSchema[];
}

const borrowEveryMs = 10_000;
/** The maximum number of flows of a schema whose queues are remembered. */
const flowsMax = 4096;

export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #mandatory: Mandatory;
  readonly #storedLevels = new Map<string, LevelConfig>();
  readonly #storedSchemas = new Map<string, CompiledSchema>();
  readonly #gauges = new Map<string, LevelGauges>();
  readonly #reads: KindTimes;
  readonly #writes: KindTimes;
  #levels = new Map<string, PriorityLevel>();
  #classifier = new Classifier<Flow>([]);
  #catchAll: Flow | undefined;
  #isStale = true;
  #cancel: () => void = () => undefined;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    const { bootstrap, clock, metrics } = options;
    const { levels, schemas } = bootstrap;
    [this.#reads, this.#writes] = metrics.kinds(clock.monotonic());
    metrics.beforePrint(() => this.#showNow());
    metrics.follow({
      hasLevel: (name) => this.#levels.has(name),
      hasSchema: (name) => this.#storedSchemas.has(name) || mandatoryNames.includes(name),
      dropped: () => {
        for (const name of this.#gauges.keys()) if (!this.#levels.has(name)) this.#gauges.delete(name);
      },
    });
    const mandatory = ({ metadata }: ApiObject): boolean => mandatoryNames.includes(metadata.name ?? "");
    this.#mandatory = {
      levels: levels.filter(mandatory).flatMap((object) => compileLevel(object) ?? []),
      schemas: schemas.filter(mandatory).map(compileFlowSchema),
    };
  }

  /** Starts the periodic division of seats. */
  start(): void {
    this.#cancel = this.#options.clock.after(borrowEveryMs, () => {
      this.#upToDate();
      this.#forgetIdle();
      this.#divide(true);
      this.start();
    });
  }

  close(): void {
    this.#cancel();
  }

  /** Sets the stored object of a name; `undefined` when it is deleted. Takes effect with the next request. */
  setLevel(name: string, object: PriorityLevelConfiguration | undefined): void {
    set(this.#storedLevels, name, object === undefined ? undefined : compileLevel(object));
    this.#isStale = true;
  }

  setSchema(name: string, object: FlowSchema | undefined): void {
    set(this.#storedSchemas, name, object === undefined ? undefined : compileFlowSchema(object));
    this.#isStale = true;
  }

  clear(what: "levels" | "schemas"): void {
    (what === "levels" ? this.#storedLevels : this.#storedSchemas).clear();
    this.#isStale = true;
  }

  /** Takes a request, which then runs, waits, or is refused. */
  claim(request: FlowRequest): Claimed {
    this.#upToDate();
    const flow = this.#classifier.classify(request) ?? this.#catchAll!; // made together
    const { level, schema } = flow;
    const distinguisher =
      schema.distinguisher === "ByUser"
        ? request.user.name
        : schema.distinguisher === "ByNamespace"
          ? request.info.namespace
          : "";
    const identity = flow.flows.get(distinguisher) ?? this.#identify(flow, distinguisher);
    const work = estimateWork(request, this.#options.work, level.widthMax, identity.tally.watchers);
    return { flow, queued: level.enter(identity, request, work) };
  }

  /** Returns the levels, sorted by name. */
  levels(): readonly PriorityLevel[] {
    this.#upToDate();
    return [...this.#levels.values()].sort((a, b) => (a.config.name < b.config.name ? -1 : 1));
  }

  #identify(flow: Flow, distinguisher: string): FlowIdentity {
    const { schema, level, flows } = flow;
    const { queues, handSize } = level.config;
    const identity: FlowIdentity = {
      schema: schema.name,
      distinguisher,
      hand: queues === 0 ? [] : dealHand(`${schema.name}/${distinguisher}`, queues, handSize),
      tally: this.#options.metrics.tally(schema.level, schema.name),
    };
    if (flows.size >= flowsMax) flows.clear();
    flows.set(distinguisher, identity);
    return identity;
  }

  #upToDate(): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#digestLevels();
    this.#digestSchemas();
    this.#divide(false);
  }

  #digestLevels(): void {
    const before = this.#levels;
    const levels = new Map<string, PriorityLevel>();
    for (const config of withMandatory(this.#storedLevels, this.#mandatory.levels)) {
      const level = before.get(config.name) ?? this.#open(config);
      level.config = config;
      level.isQuiescing = false;
      levels.set(config.name, level);
    }
    for (const [name, level] of before) {
      if (levels.has(name) || level.isIdle) continue;
      level.isQuiescing = true;
      levels.set(name, level);
    }
    this.#levels = levels;
  }

  #open(config: LevelConfig): PriorityLevel {
    const { clock, metrics } = this.#options;
    const histograms = metrics.levelHistograms(config.name);
    return new PriorityLevel({ config, clock, histograms, reads: this.#reads, writes: this.#writes });
  }

  #digestSchemas(): void {
    const usable = new Map<string, CompiledSchema>();
    for (const [name, schema] of this.#storedSchemas) {
      const level = this.#levels.get(schema.level);
      if (level !== undefined && !level.isQuiescing) usable.set(name, schema);
    }
    const flows: Flow[] = [];
    for (const schema of withMandatory(usable, this.#mandatory.schemas)) {
      // Invariant: the mandatory levels always exist.
      const level = this.#levels.get(schema.level)!;
      flows.push({
        schema,
        level,
        headers: {
          "x-kubernetes-pf-flowschema-uid": schema.uid,
          "x-kubernetes-pf-prioritylevel-uid": level.config.uid,
        },
        flows: new Map(),
      });
    }
    flows.sort(
      ({ schema: a }, { schema: b }) => a.precedence - b.precedence || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    );
    this.#classifier = new Classifier(flows);
    this.#catchAll = flows.find(({ schema }) => schema.name === "catch-all");
  }

  #forgetIdle(): void {
    for (const [name, level] of this.#levels) {
      if (level.isQuiescing && level.isIdle) {
        this.#levels.delete(name);
        this.#gauges.delete(name);
      }
    }
  }

  #divide(isPeriodOver: boolean): void {
    const levels = [...this.#levels.values()];
    const sum = levels.reduce((all, { config }) => all + config.shares, 0);
    const total = this.#options.seats;
    for (const level of levels) {
      level.limits = seatLimits(level.config, sum, total);
      if (isPeriodOver) level.endPeriod();
    }
    const { seats, targets, fairFraction } = divideSeats(
      levels.map(({ config, limits, demand }) => ({
        isExempt: config.isExempt,
        limits,
        high: demand.figures.high,
        smoothed: demand.smoothed,
      })),
    );
    for (const [index, level] of levels.entries()) {
      // The fractions of a level without seats refer to a tenth of all seats.
      level.setLimit(seats[index]!, seats[index]! || Math.max(1, Math.round(total / 10)));
      this.#show(level, targets[index]!);
    }
    this.#options.metrics.fairFraction.set(fairFraction);
    this.#settleKinds(levels);
  }

  /** Shows running requests as a fraction of all seats, and waiting ones as a fraction of all slots in queues. */
  #settleKinds(levels: readonly PriorityLevel[]): void {
    const now = this.#options.clock.monotonic();
    const seats = levels.reduce((all, { limits }) => all + limits.nominal, 0);
    const slots = levels.reduce((all, { config }) => all + config.queues * config.queueLengthMax, 0);
    for (const { executing, waiting } of [this.#reads, this.#writes]) {
      executing.settle(now, Math.max(1, seats));
      waiting.settle(now, Math.max(1, slots));
    }
  }

  #show(level: PriorityLevel, target: number): void {
    const gauges = this.#gaugesOf(level.config.name);
    const { limits, demand } = level;
    gauges.nominal.set(limits.nominal);
    gauges.concurrencyLimit.set(limits.nominal);
    gauges.lower.set(limits.lower);
    gauges.upper.set(limits.upper);
    gauges.current.set(level.limit);
    gauges.target.set(target);
    gauges.demandHigh.set(demand.figures.high);
    gauges.demandAverage.set(demand.figures.average);
    gauges.demandDeviation.set(demand.figures.deviation);
    gauges.demandSmoothed.set(demand.smoothed);
  }

  /** Updates the metrics that change with every request. Called when metrics are read. */
  #showNow(): void {
    for (const level of this.levels()) {
      level.settle();
      this.#gaugesOf(level.config.name).at.set(level.at);
      const { lastDispatch } = level;
      if (lastDispatch !== undefined) this.#options.metrics.showDispatch(level.config.name, lastDispatch);
    }
    this.#settleKinds([...this.#levels.values()]);
  }

  #gaugesOf(name: string): LevelGauges {
    let gauges = this.#gauges.get(name);
    if (gauges === undefined) {
      gauges = this.#options.metrics.level(name);
      this.#gauges.set(name, gauges);
    }
    return gauges;
  }
}

function set<T>(map: Map<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) map.delete(name);
  else map.set(name, value);
}

/** Returns the stored objects, and the mandatory ones that are not stored. */
function withMandatory<T extends { readonly name: string }>(
  stored: ReadonlyMap<string, T>,
  mandatory: readonly T[],
): readonly T[] {
  return [...stored.values(), ...mandatory.filter(({ name }) => !stored.has(name))];
}
