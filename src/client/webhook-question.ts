/**
 * Questions to webhooks that answer with the object they were sent, and calls that are repeated while that may help.
 * Source: client-go and upstream's `util/webhook`.
 */
import type { Clock } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import type { Random } from "#std/random.ts";
import { type Outgoing, OutgoingError } from "./outgoing-https.ts";
import { pause } from "./reflector.ts";

interface Retry {
  /** The pause before the second call; each further one is half as long again. */
  readonly firstPauseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends pauses, and there is no further call. */
  readonly signal: AbortSignal;
  /** A pause that would last until this time of the monotonic clock, or longer, is not begun. */
  readonly deadlineMs?: number;
}

interface WebhookQuestion extends Retry {
  readonly outgoing: Outgoing;
  readonly url: string;
  /** Credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The object, as JSON. */
  readonly body: Buffer;
  /** The limit of each call, none of which goes on after `deadlineMs`. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** This is said of an answer that is none, before its code. */
  readonly complaint?: string;
}

const callsMax = 5;
/** Answers after which it is asked again: it was interrupted or has too much to do. Upstream's list. */
const passingCodes: readonly number[] = [429, 500, 504];

/** An answer that is none, by its code. */
class AnswerError extends Error {
  readonly code: number;

  constructor(complaint: string, code: number) {
    super(`${complaint} ${code}`);
    this.code = code;
  }
}

/** The body of the answer. Rejects with what `callOut` rejects with, or for the code of the answer. */
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

/** The result of `call`, which is made again while it fails and `mayHelp`. Rejects with the last failure. */
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

/** The `status` of an answered review. Throws when the answer is none of this kind. */
export function reviewStatus(body: Buffer, kind: string): Readonly<Record<string, unknown>> {
  const answer = answerObject(body);
  const status = answer?.["status"];
  if (answer?.["kind"] !== kind || !isObject(status)) throw new Error(`the webhook's answer is no ${kind}`);
  return status;
}

/** The answer, if it is an object. */
export function answerObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const answer: unknown = JSON.parse(body.toString());
    return isObject(answer) ? answer : undefined;
  } catch {
    // The text of the parser would show parts of the answer.
    return undefined;
  }
}

/** Whether another call may do better. */
function isPassing(error: unknown): boolean {
  if (error instanceof AnswerError) return passingCodes.includes(error.code);
  return !(error instanceof OutgoingError) && (error as NodeJS.ErrnoException).code === "ECONNRESET";
}
