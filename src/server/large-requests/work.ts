/** A job for a thread of large requests: its data, the answers to its questions, and the waiting caller. */
import type { Job, ThreadQuestion, Questions, SentReply } from "./messages.ts";

export interface Work {
  /** The user; users take turns. */
  readonly user: string;
  /** Made when the work begins, so that it sees what is stored then. */
  job(): Job;
  answer(question: ThreadQuestion): Promise<Questions[keyof Questions]["answer"]>;
  warn?(texts: readonly string[]): void;
  settle(end: { readonly reply: SentReply } | { readonly error: Error }): void;
}
