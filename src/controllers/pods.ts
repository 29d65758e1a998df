/** Predicates of pods that several controllers use. */
import type { Pod } from "#api/core/v1.ts";

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

/** Whether a pod has ended. */
export const isTerminal = ({ status: { phase } }: Pod): boolean => phase === "Succeeded" || phase === "Failed";
