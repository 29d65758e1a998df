/** `binnacle backup` and `binnacle restore`. */
import { StartError } from "./start-error.ts";

export function backup(_args: readonly string[]): Promise<void> {
  return Promise.reject(new StartError("backup is not there yet"));
}

export function restore(_args: readonly string[]): Promise<void> {
  return Promise.reject(new StartError("restore is not there yet"));
}
