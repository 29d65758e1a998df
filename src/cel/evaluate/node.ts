/** Compiled nodes of an expression. */
import { CelError, type Value } from "../values.ts";
import type { Step } from "./frame.ts";

export interface Compiled {
  readonly step: Step;
  /**
   * Of names and of what is selected from values: the same without the cost of the whole, which is not counted where a
   * conditional chooses it or another value is indexed by it.
   */
  readonly bare?: Step;
  /** The value of a node that is known before; it costs nothing. */
  readonly constant?: Value;
}

export const constantNode = (value: Value): Compiled => ({ step: () => value, constant: value });

/** A name or selection, by its step without the cost of the whole. */
export function attributeNode(bare: Step): Compiled {
  return {
    bare,
    step: (frame) => {
      frame.cost += 1;
      return bare(frame);
    },
  };
}

/** What a selection continues from. */
export const bareStep = ({ bare, step }: Compiled): Step => bare ?? step;

/** An error with the node it happened at. */
export const errorAt = (error: CelError, id: number): CelError =>
  error.id === 0 ? new CelError(error.message, id) : error;

/** Thrown while compiling: a constant part of the expression has no value. */
export class ConstantError extends Error {}
