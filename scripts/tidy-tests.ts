/**
 * Finds tests that measure time. The time of work depends on the machine and its other work more than on the work
 * itself: tests count the work, or compare how it grows; benches measure.
 */
import type { Finding } from "./tidy-finding.ts";

/** Files and folders that read a clock for another purpose than to judge the time of work. */
const mayMeasure: readonly string[] = [
  // Times order the actions of several clients.
  "test/simulation/clients.test.ts",
  // Times order the calls of several processes, and delay the bytes of a link.
  "test/scale-out/rounds/",
  "test/scale-out/relay-process.ts",
  // Programs that measure when somebody asks for it.
  "test/scale-out/programs/",
];

const meters =
  /\bperformance\.(?:now|eventLoopUtilization)\b|\bprocess\.(?:hrtime|cpuUsage|threadCpuUsage)\b|\bmonitorEventLoopDelay\b/g;
const present = String.raw`(?:Date\.now|systemClock\.(?:now|monotonic))\(\)`;

/**
 * Returns the findings about a file whose comments and strings are blank: uses of a meter, and differences of two
 * times.
 */
export function findMeasuredTimes(file: string, bare: string): Finding[] {
  const isTest = file.startsWith("test/") || /\.(?:test|fuzz|contract)\.ts$/.test(file);
  if (!isTest || mayMeasure.some((path) => file.startsWith(path))) return [];
  const matches = [...bare.matchAll(meters)];
  const names = [...bare.matchAll(new RegExp(String.raw`\b(\w+)(?::\s*number)?\s*=\s*${present}\s*[;,]`, "g"))];
  if (names.length > 0) {
    const earlier = String.raw`(?:${names.map(([, name]) => name!).join("|")})\b`;
    matches.push(...bare.matchAll(new RegExp(String.raw`(?:${present}|\b${earlier})\s*-\s*${earlier}`, "g")));
  }
  return matches.map((match) => ({
    file,
    line: bare.slice(0, match.index).split("\n").length,
    message: `${match[0]} measures time: count the work, or compare its growth (src/std/growth-for-tests.ts)`,
  }));
}
