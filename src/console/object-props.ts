/** The object that a page is about, as each of its tabs gets it. */
import type { Unstructured } from "#meta/object-meta.ts";
import type { App } from "./app-state.ts";
import type { ServedKind } from "./kinds.ts";

export interface ObjectProps {
  readonly app: App;
  readonly kind: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
  /** The object as it was read last; `undefined` when there is none. */
  readonly object: Unstructured | undefined;
  /** Reads the object again. */
  readonly reload: () => void;
}
