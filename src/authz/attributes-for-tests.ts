/** Attributes of requests, for tests of authorizers. */
import type { Attributes } from "./authorizer.ts";

/** User bob gets a config map, with the changes of `over`. */
export const attributes = (over: Partial<Attributes> = {}): Attributes => ({
  user: { name: "bob", groups: ["devs", "system:authenticated"] },
  verb: "get",
  isResourceRequest: true,
  path: "",
  group: "",
  version: "v1",
  resource: "configmaps",
  subresource: "",
  namespace: "n",
  name: "c",
  ...over,
});

/** User bob gets a path outside the API. */
export const pathAttributes = (path: string, over: Partial<Attributes> = {}): Attributes =>
  attributes({ isResourceRequest: false, path, version: "", resource: "", namespace: "", name: "", ...over });
