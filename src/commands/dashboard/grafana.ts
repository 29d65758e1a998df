/** Makes the dashboard as Grafana imports it, from version 10 on. */
import { type Panel, type PanelRow, rows } from "./panels.ts";

const width = 12;
const height = 8;

/** Returns the dashboard as the value of its JSON. */
export function grafanaDashboard(): object {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push(rowPanel(row, panels.length + 1, y));
    y++;
    for (const [at, panel] of row.panels.entries()) {
      const grid = { x: (at % 2) * width, y: y + Math.floor(at / 2) * height, w: width, h: height };
      panels.push(graph(panel, panels.length + 1, grid));
    }
    y += Math.ceil(row.panels.length / 2) * height;
  }
  return {
    title: "Binnacle",
    uid: "binnacle",
    tags: ["binnacle", "kubernetes"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        {
          name: "job",
          label: "Job",
          type: "query",
          datasource,
          query: { query: "label_values(apiserver_request_total, job)", refId: "jobs" },
          refresh: 2,
          includeAll: true,
          multi: true,
          current: { text: "All", value: "$__all" },
        },
      ],
    },
    panels,
  };
}

const datasource = { type: "prometheus", uid: "${datasource}" };

const rowPanel = ({ title }: PanelRow, id: number, y: number): object => ({
  id,
  type: "row",
  title,
  collapsed: false,
  gridPos: { x: 0, y, w: 2 * width, h: 1 },
  panels: [],
});

const graph = ({ title, about, unit, queries }: Panel, id: number, gridPos: object): object => ({
  id,
  type: "timeseries",
  title,
  description: about,
  datasource,
  gridPos,
  fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: "never" } }, overrides: [] },
  options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
  targets: queries.map(({ expr, legend }, at) => ({
    refId: String.fromCharCode(65 + at),
    datasource,
    expr,
    legendFormat: legend,
    range: true,
  })),
});
