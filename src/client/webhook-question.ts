/**
 * A question to a webhook that answers with the object it was sent: repeated while that may help. Source: client-go and
 * upstream's `util/webhook`.
 */
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { type Outgoing, type OutgoingAnswer, OutgoingError } from "./outgoing-https.ts";

export interface WebhookQuestion {
  readonly outgoing: Outgoing;
  readonly url: string;
  /** Credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The object, as JSON. */
  readonly body: Buffer;
  /** For each call. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** Before the second call; each further wait is half as long again. */
  readonly firstPauseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Gives up calls and waits. */
  readonly signal: AbortSignal;
}

const attemptsMax = 5;
/** Answers after which it is asked again: it was interrupted or has too much to do. Upstream's list. */
const passingCodes: readonly number[] = [429, 500, 504];

/** The body of the answer. Rejects with what `callOut` rejects with, or for the code of the answer. */
export async function askWebhook(question: WebhookQuestion): Promise<Buffer> {
  const { outgoing, url, body, timeoutMs, answerBytesMax: maxBytes, clock, random, signal } = question;
  const headers = { ...question.headers, "content-type": "application/json", accept: "application/json" };
  let pauseMs = question.firstPauseMs;
  for (let attempt = 1; ; attempt++) {
    const answer = await outgoing
      .callOut({ url, method: "POST", headers, body, timeoutMs, maxBytes, signal })
      .catch(passingError);
    if (!(answer instanceof Error) && answer.code >= 200 && answer.code <= 206) return answer.body;
    const problem = answer instanceof Error ? answer : new Error(`Error contacting webhook: ${answer.code}`);
    const isPassing = answer instanceof Error || passingCodes.includes(answer.code);
    if (!isPassing || attempt === attemptsMax || signal.aborted) throw problem;
    await pause(clock, pauseMs * (1 + 0.2 * random.next()), signal);
    pauseMs *= 1.5;
  }
}

/** The error, if another call may do better. */
function passingError(error: unknown): OutgoingAnswer | Error {
  const isReset = !(error instanceof OutgoingError) && (error as NodeJS.ErrnoException).code === "ECONNRESET";
  if (isReset) return error as Error; // it has a code
  throw error;
}

/** Ends early when the signal is aborted. */
function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
