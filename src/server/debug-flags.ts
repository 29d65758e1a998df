/**
 * `/debug/flags`: how much the log says can be changed while the server runs. Source of answers: kube-apiserver, whose
 * only flag there is `v`.
 */
import type { HandledRequest, Reply } from "#http/api-request.ts";
import { plainText } from "#http/plain-text.ts";
import { goQuote } from "#meta/field-error.ts";

const root = "/debug/flags";
const bodyBytesMax = 1024;

/** The page that lists the flags, as clients of kube-apiserver know it. */
const page = [
  "<html>",
  "<head>",
  `<title>${root}/</title>`,
  "</head>",
  "<body>",
  `${root}/<br>`,
  "<br>",
  "flags:<br>",
  "<table>",
  "",
  "<tr>v<br>",
  "",
  "</table>",
  "<br>",
  "full flags configurable<br>",
  "</body>",
  "</html>",
  "",
].join("\n");

/** Answers a request for one of these paths. Permission has been checked. `setVerbosity` takes numbers from 0. */
export async function replyDebugFlags(
  request: HandledRequest,
  setVerbosity: (verbosity: number) => void,
): Promise<Reply> {
  if (request.path !== `${root}/v`) {
    return { code: 200, contentType: "text/html; charset=utf-8", bytes: Buffer.from(page) };
  }
  if (request.method !== "PUT") return answer(406, "unsupported http method");
  const text = (await request.body(bodyBytesMax)).toString();
  const problem = numberProblem(text);
  if (problem !== undefined) return answer(400, `strconv.ParseUint: parsing ${goQuote(text)}: ${problem}`);
  setVerbosity(Number(text));
  return answer(200, `successfully set klog.logging.verbosity to ${text}`);
}

export const isDebugFlags = (path: string): boolean => path === root || path.startsWith(`${root}/`);

function numberProblem(text: string): string | undefined {
  if (!/^[0-9]+$/.test(text)) return "invalid syntax";
  return Number(text) > 2 ** 31 - 1 ? "value out of range" : undefined;
}

const answer = (code: number, text: string): Reply => ({ ...plainText(code, `${text}\n`), contentType: "text/plain" });
