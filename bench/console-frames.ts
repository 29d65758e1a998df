/**
 * Prints how long the frames of the console take while 10,000 rows are listed, scrolled and changed by a watch, in Chromium:
 * `node --conditions=source bench/console-frames.ts`. A frame of 50 ms or more is one that people notice. A machine that
 * is busy with other work shows longer ones, so this is no test.
 */
import { openBrowser, signIn, go } from "../test/console/browser.ts";
import { Api, openServer } from "../test/harness.ts";
import { configMap, namespace } from "../test/objects.ts";

const count = 10_000;
const path = "/api/v1/namespaces/many/configmaps";
const nameOf = (i: number): string => `map-${String(i).padStart(5, "0")}`;

/** Starts to note the times between frames, and the long tasks, of the page. */
const record = `window.frames_ = []; window.tasks_ = [];
new PerformanceObserver((list) => list.getEntries().forEach((one) => tasks_.push(one.duration))).observe({ type: "longtask" });
{ let last = performance.now(); const tick = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(tick); }; requestAnimationFrame(tick); }`;

interface Recorded {
  readonly frames: readonly number[];
  readonly tasks: readonly number[];
}

function line(name: string, { frames, tasks }: Recorded): string {
  const sorted = [...frames].sort((one, other) => one - other);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1);
  const longest = Math.max(0, ...tasks).toFixed(0);
  return `${name.padEnd(28)} frames ${frames.length}, median ${at(0.5)} ms, 99% ${at(0.99)} ms, longest ${at(1)} ms; long tasks ${tasks.length}, longest ${longest} ms\n`;
}

const server = await openServer("k8s.io");
const api = new Api(server);
const browser = await openBrowser();
try {
  (await api.post("/api/v1/namespaces", namespace("many"))).expect(201);
  const each = async (work: (i: number) => Promise<unknown>): Promise<void> => {
    for (let i = 0; i < count; i += 50) await Promise.all(Array.from({ length: 50 }, (_, at) => work(i + at)));
  };
  await each((i) => api.post(path, configMap(nameOf(i))));
  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  await signIn(page, server.url);
  await page.getByText("The server is ready").waitFor();
  await page.evaluate(record);
  const measured = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    await page.evaluate("frames_.length = 0; tasks_.length = 0");
    await work();
    process.stdout.write(line(name, (await page.evaluate("({ frames: frames_, tasks: tasks_ })")) as Recorded));
  };
  await measured("list of 10,000", async () => {
    await go(page, "#/kind/-/v1/configmaps?ns=many");
    await page.getByText("live: 10,000 objects").waitFor();
  });
  await measured("10,000 changes by the watch", () =>
    each((i) => api.patch(`${path}/${nameOf(i)}`, { data: { a: "1" } })),
  );
  await measured("the same, sorted", async () => {
    await page.getByRole("button", { name: "Data" }).click();
    await each((i) => api.patch(`${path}/${nameOf(i)}`, { data: { b: "1" } }));
  });
  await measured("scrolling through all", () =>
    page.evaluate(`new Promise((resolve) => {
      const box = document.querySelector(".rows");
      box.scrollTop = 0;
      const step = () => {
        box.scrollTop += 1500;
        if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) resolve(); else requestAnimationFrame(step);
      };
      step();
    })`),
  );
} finally {
  await browser.close();
  api.close();
  await server.close();
}
