/** Values that a page reads from the server: not there yet, there, or failed. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Loaded<T> {
  readonly value?: T;
  readonly error?: unknown;
  /** Whether an answer is awaited. */
  readonly isLoading: boolean;
}

/**
 * Reads a value when the component appears and whenever one of `inputs` changes. What was read for older inputs is
 * dropped, and its requests are given up. The returned function reads once more.
 */
export function useLoaded<T>(
  read: (abort: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): readonly [Signal<Loaded<T>>, () => void] {
  const loaded = useSignal<Loaded<T>>({ isLoading: true });
  const turn = useSignal(0);
  useEffect(() => {
    const abort = new AbortController();
    const { value } = loaded.peek();
    loaded.value = value === undefined || turn.peek() === 0 ? { isLoading: true } : { value, isLoading: true };
    read(abort.signal).then(
      (found) => {
        if (!abort.signal.aborted) loaded.value = { value: found, isLoading: false };
      },
      (error: unknown) => {
        if (!abort.signal.aborted) loaded.value = { error, isLoading: false };
      },
    );
    return () => abort.abort();
  }, [...inputs, turn.value]);
  return [loaded, () => (turn.value += 1)];
}
