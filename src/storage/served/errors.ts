/** Errors of the log as they are told to another process. */
import { OutcomeUnknown, StorageFailure, StorageFull, StorageRefusal, Unavailable } from "../log-store.ts";
import { type FrameField, record, text, word } from "./fields.ts";

const kinds = ["full", "unavailable", "unknown", "refused", "failed"] as const;

export interface SentError {
  readonly kind: (typeof kinds)[number];
  readonly message: string;
}

export const sentError: FrameField<SentError> = record<SentError>({ kind: word(kinds), message: text });

const classes: Readonly<Record<SentError["kind"], new (message: string) => StorageFailure>> = {
  full: StorageFull,
  unavailable: Unavailable,
  unknown: OutcomeUnknown,
  refused: StorageRefusal,
  failed: StorageFailure,
};

/** Returns an error as it is told. Clients see the messages of refusals. */
export function toSentError(error: unknown): SentError {
  const kind = kinds.find((name) => error instanceof classes[name]) ?? "failed";
  return { kind, message: error instanceof Error ? error.message : String(error) };
}

export const fromSentError = ({ kind, message }: SentError): StorageFailure => new classes[kind](message);
