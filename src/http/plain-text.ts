/** Answers in plain text, which browsers are not to take for anything else: as Go's `http.Error` writes them. */
import type { Reply } from "./api-request.ts";

export const plainText = (code: number, text: string): Reply => ({
  code,
  contentType: "text/plain; charset=utf-8",
  headers: { "x-content-type-options": "nosniff" },
  bytes: Buffer.from(text),
});
