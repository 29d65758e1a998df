/** Which parts of a large tree are large themselves, so that work on it can be done in pieces, the parts first. */
import type { Expression } from "../ast.ts";

/** The ids of nodes with more than so many nodes below them. */
export function heavyNodes(ast: Expression, nodesMax: number): ReadonlySet<number> {
  const heavy = new Set<number>();
  const count = (node: Expression): number => {
    let nodes = 1;
    for (const part of childrenOf(node)) nodes += count(part);
    if (nodes > nodesMax) heavy.add(node.id);
    return nodes;
  };
  count(ast);
  return heavy;
}

/** The nodes directly below a node, in the order in which the checker looks at them. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case "select":
      return [node.operand];
    case "call":
      return node.target === undefined ? node.args : [...node.args, node.target];
    case "list":
      return node.elements;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "object":
      return node.fields.map(({ value }) => value);
    case "comprehension":
      return [node.range, node.initial, node.condition, node.step, node.result];
    default:
      return [];
  }
}
