/** The history of a server, as Binnacle alone tells it (`docs/history.md`). */
import type { Unstructured } from "#meta/object-meta.ts";

/** An event of the history: an object that was created, updated or deleted. */
export interface VersionItem {
  readonly resourceVersion: string;
  readonly event: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly time?: string;
  readonly user?: string;
  readonly manager?: string;
  readonly endedBy?: { readonly user?: string; readonly manager?: string };
  readonly problem?: string;
  readonly object?: Unstructured;
  readonly previous?: Unstructured;
}

export interface VersionPage {
  readonly metadata: { readonly continue?: string };
  readonly since: { readonly resourceVersion: string; readonly time?: string };
  readonly items: readonly VersionItem[];
}

/** Returns who made an event, as far as it is known. */
export const whoOf = ({ user, manager, endedBy }: VersionItem): string =>
  user ?? manager ?? endedBy?.user ?? "an unknown manager";
