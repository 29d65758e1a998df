/** Expressions of device selectors, right ones and wrong ones. */
export const deviceExpressions: readonly string[] = [
  'device.driver == "gpu.example.com"',
  'device.attributes["gpu.example.com"].model == "x"',
  'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.2.3"))',
  'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.ready && gpu.index > 1)',
  'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Gi"))',
];

/** Expressions that are refused, for the edits. */
export const wrongDeviceExpressions: readonly string[] = [
  "",
  "device.",
  "device",
  'device.attributes["a"]["b"]',
  'device.attributes["a"]["b"].c',
  "device.driver.matches('a+')",
  "device.attributes.exists(x, x == 'a')",
  "cel.bind(1, 2, true)",
  "cel.bind(a, 1)",
  "int('a') == 1",
  "device.none",
  "1 + 1",
  "[1].transformList(i, v, v) == [1]",
];
