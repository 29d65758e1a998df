/** Handles error codes that a controller expects. */
import { StatusError } from "#meta/status-error.ts";

/**
 * Returns `undefined` instead of a rejection with one of these codes: 404 for an object that is gone, 409 for one that
 * another client wrote first.
 */
export async function ignoreCodes<T>(codes: readonly number[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && codes.includes(error.status.code)) return undefined;
    throw error;
  }
}

/**
 * Waits for work that creates objects; ignores its failure if the namespace is being deleted or gone, since there is
 * then nothing to do.
 */
export async function whileNamespaceLives(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNamespaceEnding(error)) throw error;
  }
}

/** Whether a creation was refused because its namespace is being deleted, or gone. */
export function isNamespaceEnding(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const { code, details } = error.status;
  if (code === 404) return details?.kind === "namespaces";
  return code === 403 && details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
}
