/** Says how a copy reads and writes values: in clear, or encrypted as the configuration of the servers says. */
import type { MaybePromise } from "#std/maybe-promise.ts";
import { printable } from "#std/printable.ts";
import type { LogEntry, Unversioned, ValueForm } from "../log-store.ts";

/** A value in clear, or the reason why it cannot be read. */
export type ClearValue = { readonly value: Unversioned } | { readonly problem: string };

export interface CopyCipher {
  /** Returns the clear value of an entry, which is stored in a form. */
  open(form: ValueForm, entry: Pick<LogEntry, "key" | "value">): MaybePromise<ClearValue>;
  /** Returns the value to store for a key. Throws an error when it cannot be encrypted. */
  seal(form: ValueForm, key: string, value: Unversioned): Unversioned;
}

/** Faults of single keys, of which a copy is refused: nothing may be lost. Keys are shown as a terminal can take them. */
export class Problems {
  readonly #shown: string[] = [];
  count = 0;

  add(key: string, problem: string): void {
    this.count++;
    if (this.#shown.length < problemsShown) this.#shown.push(printable(key === "" ? problem : `${key}: ${problem}`));
  }

  toString(): string {
    const more = this.count - this.#shown.length;
    return [...this.#shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
  }
}

const problemsShown = 20;

/** The result of a copy. */
export interface CopyReport {
  /** The number of objects, and of other records, that were copied. */
  readonly keys: number;
  /** The number of keys of the source that servers keep for themselves, and that were not copied. */
  readonly leftOut: number;
  /** The revision that the copy has. */
  readonly revision: number;
  /** The time that it took, without waiting for servers and burning revisions. */
  readonly seconds: number;
  /** The digest of keys and values, which is that of both sides. */
  readonly digest: string;
}

/** Is told how far a copy is. `keys` counts up in each step. */
export type CopyProgress = (step: "reading" | "writing" | "comparing" | "burning" | "waiting", keys: number) => void;
