/** Priority level configurations made ready. Source: upstream's `queueSetCompleterForPL`. */
import type { Unstructured } from "#meta/object-meta.ts";
import type { Shares } from "./seat-limits.ts";

/** What a priority level configuration says. */
export interface LevelConfig extends Shares {
  readonly name: string;
  readonly uid: string;
  readonly isExempt: boolean;
  /** 0: requests that cannot run at once are refused. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthMax: number;
}

interface Sharing {
  readonly nominalConcurrencyShares?: number | null;
  readonly lendablePercent?: number | null;
  readonly borrowingLimitPercent?: number | null;
}

interface Limited extends Sharing {
  readonly limitResponse?: {
    readonly type?: string;
    readonly queuing?: {
      readonly queues?: number;
      readonly handSize?: number;
      readonly queueLengthLimit?: number;
    } | null;
  };
}

interface StoredSpec {
  readonly type?: string;
  readonly exempt?: Sharing | null;
  readonly limited?: Limited | null;
}

/** `undefined` for one that contradicts itself: it is as if it did not exist. */
export function compileLevel(object: Unstructured): LevelConfig | undefined {
  const { type, exempt, limited } = (object["spec"] ?? {}) as StoredSpec; // by its schema
  const { name = "", uid = "" } = object.metadata;
  const isExempt = type === "Exempt";
  if (isExempt !== (name === "exempt")) return undefined;
  const shares = isExempt ? exempt : limited;
  if (shares === undefined || shares === null) return undefined;
  const response = isExempt ? undefined : limited?.limitResponse;
  const queuing = response?.queuing ?? undefined;
  if (!isExempt && (response?.type === "Queue") !== (queuing !== undefined)) return undefined;
  return {
    name,
    uid,
    isExempt,
    shares: shares.nominalConcurrencyShares ?? (isExempt ? 0 : 30),
    lendablePercent: shares.lendablePercent ?? 0,
    borrowingLimitPercent: shares.borrowingLimitPercent ?? undefined,
    queues: queuing?.queues ?? 0,
    handSize: queuing?.handSize ?? 0,
    queueLengthMax: queuing?.queueLengthLimit ?? 0,
  };
}
