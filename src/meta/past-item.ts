/** The answers of the history, as clients read them (`docs/history.md`). */
import type { Unstructured } from "./object-meta.ts";

/** An event of the history, as the server tells it. */
export interface PastItem {
  readonly resourceVersion: string;
  readonly event: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly time?: string;
  readonly timeSource?: string;
  /** The user who asked for a deletion, if that is known. */
  readonly user?: string;
  readonly manager?: string;
  readonly endedBy?: { readonly user?: string; readonly manager?: string };
  readonly operation?: string;
  readonly problem?: string;
  readonly object?: Unstructured;
  readonly previous?: Unstructured;
}

export interface PastPage {
  readonly metadata: { readonly continue?: string };
  readonly since: { readonly resourceVersion: string; readonly time?: string };
  readonly items: readonly PastItem[];
}
