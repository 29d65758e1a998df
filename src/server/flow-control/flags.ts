/** Flags of request limits and of priority and fairness. */
import { boolean, integer, type OptionsOf } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";

const generic = (name: string) => [name, "Generic"] as const;
const count = { min: 0, max: 1_000_000_000 };

export const fairnessFlags = {
  enablePriorityAndFairness: boolean(
    ["enable-priority-and-fairness", "Features"],
    true,
    "Let flow schemas and priority levels decide whose requests are served first; if false, only the two limits do.",
  ),
  maxRequestsInflight: integer(
    generic("max-requests-inflight"),
    400,
    count,
    "Most non-mutating requests at a time; 0 for no limit. With priority and fairness, the sum of both is divided.",
  ),
  maxMutatingRequestsInflight: integer(
    generic("max-mutating-requests-inflight"),
    200,
    count,
    "Most mutating requests at a time; 0 for no limit. With priority and fairness, the sum of both is divided.",
  ),
};

export type FairnessFlags = OptionsOf<typeof fairnessFlags>;

/** Throws `StartError` when priority and fairness has no seats to divide. */
export function checkFairness(options: FairnessFlags): void {
  const seats = options.maxRequestsInflight + options.maxMutatingRequestsInflight;
  if (!options.enablePriorityAndFairness || seats > 0) return;
  throw new StartError(
    "--enable-priority-and-fairness needs --max-requests-inflight and --max-mutating-requests-inflight to give more than 0 together",
  );
}
