/** Answers in plain text, which browsers must not take for another type: in the form of Go's `http.Error`. */
import type { Reply } from "./api-request.ts";

export const plainText = (code: number, text: string): Reply => ({
  code,
  contentType: "text/plain; charset=utf-8",
  headers: { "x-content-type-options": "nosniff" },
  bytes: Buffer.from(text),
});
