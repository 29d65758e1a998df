/** Attributes of requests, for tests of authorizers. */
import type { Attributes } from "./authorizer.ts";

/** The attributes of a GET of a config map by the user bob, with the changes of `over`. */
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

/** The attributes of a GET of a path outside the API by the user bob. */
export const pathAttributes = (path: string, over: Partial<Attributes> = {}): Attributes =>
  attributes({ isResourceRequest: false, path, version: "", resource: "", namespace: "", name: "", ...over });
