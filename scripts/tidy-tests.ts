/**
 * Finds tests that measure time. How long work takes says more about the machine, and what else it does, than about the
 * work: tests count it, or compare how it grows; benches measure.
 */

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Tests that read a clock for something else than how long work takes. */
const mayMeasure: readonly string[] = [
  // Times order what several clients did.
  "test/simulation/clients.test.ts",
];

const meters =
  /\bperformance\.(?:now|eventLoopUtilization)\b|\bprocess\.(?:hrtime|cpuUsage|threadCpuUsage)\b|\bmonitorEventLoopDelay\b/g;
const present = String.raw`(?:Date\.now|systemClock\.(?:now|monotonic))\(\)`;

/** Findings of one file, whose comments and strings are blank: meters, and differences of two times of now. */
export function measuredTimes(file: string, bare: string): Finding[] {
  const isTest = file.startsWith("test/") || /\.(?:test|fuzz|contract)\.ts$/.test(file);
  if (!isTest || mayMeasure.includes(file)) return [];
  const found = [...bare.matchAll(meters)];
  const names = [...bare.matchAll(new RegExp(String.raw`\b(\w+)(?::\s*number)?\s*=\s*${present}\s*[;,]`, "g"))];
  if (names.length > 0) {
    const earlier = String.raw`(?:${names.map(([, name]) => name!).join("|")})\b`;
    found.push(...bare.matchAll(new RegExp(String.raw`(?:${present}|\b${earlier})\s*-\s*${earlier}`, "g")));
  }
  return found.map((match) => ({
    file,
    line: bare.slice(0, match.index).split("\n").length,
    message: `${match[0]} measures time: count the work, or compare its growth (src/std/growth-for-tests.ts)`,
  }));
}
