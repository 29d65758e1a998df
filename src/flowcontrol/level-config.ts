/** Compiled settings of a priority level. Source: upstream's `queueSetCompleterForPL`. */
import type { PriorityLevelConfiguration } from "#api/flowcontrol/v1.ts";
import type { Shares } from "./seat-limits.ts";

/** The settings of a priority level configuration. */
export interface LevelConfig extends Shares {
  readonly name: string;
  readonly uid: string;
  readonly isExempt: boolean;
  /** The number of queues; with 0, requests that cannot run at once are refused. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthMax: number;
}

/** Returns the compiled level; `undefined` for one that contradicts itself, which is treated as absent. */
export function compileLevel({ metadata, spec }: PriorityLevelConfiguration): LevelConfig | undefined {
  const { type, exempt, limited } = spec;
  const { name = "", uid = "" } = metadata;
  const isExempt = type === "Exempt";
  if (isExempt !== (name === "exempt")) return undefined;
  const shares = isExempt ? exempt : limited;
  if (shares === undefined) return undefined;
  const response = isExempt ? undefined : limited?.limitResponse;
  const queuing = response?.queuing;
  if (!isExempt && (response?.type === "Queue") !== (queuing !== undefined)) return undefined;
  return {
    name,
    uid,
    isExempt,
    shares: shares.nominalConcurrencyShares ?? (isExempt ? 0 : 30),
    lendablePercent: shares.lendablePercent ?? 0,
    borrowingLimitPercent: "borrowingLimitPercent" in shares ? shares.borrowingLimitPercent : undefined,
    queues: queuing?.queues ?? 0,
    handSize: queuing?.handSize ?? 0,
    queueLengthMax: queuing?.queueLengthLimit ?? 0,
  };
}
