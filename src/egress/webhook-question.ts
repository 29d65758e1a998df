/**
 * Calls to webhooks that answer with the object that they received, and repetition of failed calls. Source: client-go
 * and upstream's `util/webhook`.
 */
import { type Clock, pause } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import type { Random } from "#std/random.ts";
import { type Outgoing, OutgoingError } from "./outgoing-https.ts";

interface Retry {
  /** The pause before the second call in milliseconds; each later pause is 1.5 times as long. */
  readonly firstPauseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the pause and the repetition. */
  readonly signal: AbortSignal;
  /** The time of the monotonic clock after which no call begins: a pause that would last so long is not begun. */
  readonly deadlineMs?: number;
}

interface WebhookQuestion extends Retry {
  readonly outgoing: Outgoing;
  readonly url: string;
  /** Headers with credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The object, as JSON. */
  readonly body: Buffer;
  /** The time limit of each call in milliseconds. No call continues after `deadlineMs`. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** The beginning of the error message for an answer that is not usable; the code follows. */
  readonly complaint?: string;
}

const callsMax = 5;
/** Codes after which a call is repeated, since the webhook was interrupted or overloaded. Upstream's list. */
const passingCodes: readonly number[] = [429, 500, 504];

/** The error of an answer with an error code. */
class AnswerError extends Error {
  readonly code: number;

  constructor(complaint: string, code: number) {
    super(`${complaint} ${code}`);
    this.code = code;
  }
}

/**
 * Returns the body of the answer. Rejects with the errors of `callOut`, or with an error for the code of the answer.
 */
export function askWebhook(question: WebhookQuestion): Promise<Buffer> {
  const { outgoing, url, body, timeoutMs, answerBytesMax: maxBytes, clock, signal } = question;
  const { deadlineMs = Number.POSITIVE_INFINITY, complaint = "the webhook answered" } = question;
  const headers = { ...question.headers, "content-type": "application/json", accept: "application/json" };
  const call = async (): Promise<Buffer> => {
    const leftMs = Math.min(timeoutMs, deadlineMs - clock.monotonic());
    const answer = await outgoing.callOut({ url, method: "POST", headers, body, timeoutMs: leftMs, maxBytes, signal });
    if (answer.code < 200 || answer.code > 206) throw new AnswerError(complaint, answer.code);
    return answer.body;
  };
  return retryCall(call, isPassing, question);
}

/**
 * Returns the result of `call`, which is repeated while it fails and `mayHelp` allows it. Rejects with the last error.
 */
export async function retryCall<T>(
  call: () => Promise<T>,
  mayHelp: (error: unknown) => boolean,
  { firstPauseMs, clock, random, signal, deadlineMs = Number.POSITIVE_INFINITY }: Retry,
): Promise<T> {
  let pauseMs = firstPauseMs;
  for (let calls = 1; ; calls++) {
    let thisPauseMs: number;
    try {
      return await call();
    } catch (error) {
      thisPauseMs = pauseMs * (1 + 0.2 * random.next());
      const isLate = clock.monotonic() + thisPauseMs >= deadlineMs;
      if (calls === callsMax || isLate || signal.aborted || !mayHelp(error)) throw error;
    }
    await pause(clock, thisPauseMs, signal);
    pauseMs *= 1.5;
  }
}

/**
 * Returns the `status` of an answered review, which is empty if there is none. Throws when the answer says that it is of
 * another kind or version than the review that was sent; one that says neither counts as that review. The group is not
 * compared, so that webhooks may have Kubernetes' names in every domain.
 */
export function reviewStatus(body: Buffer, kind: string, sentVersion: string): Readonly<Record<string, unknown>> {
  const answer = answerObject(body);
  const { kind: answered = kind, apiVersion = sentVersion, status = {} } = answer ?? {};
  const versionOf = (text: unknown): string | undefined => String(text).split("/").at(-1);
  const isSame = answered === kind && versionOf(apiVersion) === versionOf(sentVersion);
  if (answer === undefined || !isSame || !isObject(status ?? {})) throw new Error(`the webhook's answer is no ${kind}`);
  return (status ?? {}) as Readonly<Record<string, unknown>>; // an object, as was checked
}

/** Returns the answer if it is a JSON object. */
export function answerObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const answer: unknown = JSON.parse(body.toString());
    return isObject(answer) ? answer : undefined;
  } catch {
    // The parser's message would contain parts of the answer.
    return undefined;
  }
}

/** Whether a repetition may succeed. */
function isPassing(error: unknown): boolean {
  if (error instanceof AnswerError) return passingCodes.includes(error.code);
  if (error instanceof OutgoingError || !(error instanceof Error)) return false;
  const { code, syscall }: NodeJS.ErrnoException = error;
  // A connection that is closed in good order has this code, too, but no system call that failed.
  return code === "ECONNRESET" && syscall !== undefined;
}
