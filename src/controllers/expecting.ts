/** Refusals that a controller expects. */
import { StatusError } from "#meta/status-error.ts";

/** `undefined` instead of a rejection with one of these codes: 404 for what is gone, 409 for what another wrote first. */
export async function expecting<T>(codes: readonly number[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && codes.includes(error.status.code)) return undefined;
    throw error;
  }
}
