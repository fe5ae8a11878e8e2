import type { CandidateName } from './candidates.ts'
import { compareCheckouts, formatChange, formatComparison, formatInterval } from './comparison.ts'
import { disturbanceLimit } from './machine-load.ts'
import type { Samples } from './measure.ts'
import { buildOverview } from './overview.ts'
import type { Scenario } from './scenarios.ts'
import { type Measurements, type Row, type Summary, summarize, toFigure } from './summary.ts'
import {
  type Cell,
  formatDisturbance,
  formatMedian,
  formatNumber,
  formatSpread,
  formatTable,
} from './tables.ts'
import { buildTargets, formatVerdict } from './targets.ts'

type Rows = Partial<Record<CandidateName, Row>>

/** The human-readable form of the JSON result. */
export function formatReport(measured: Measurements, scenarios: Scenario[]): string {
  const summary = summarize(measured.samples)
  const shown = scenarios.filter(({ id }) => summary[id])
  const tables = shown
    .filter(({ spec }) => !spec.translation)
    .map((scenario) => {
      const rows = summary[scenario.id] ?? {}
      // Under full load, latency is queueing: it measures the machine, not what the gateway adds.
      const lines =
        scenario.perSecond === null ? buildCpuTable(scenario, rows) : buildRateTable(scenario, rows)
      return formatSection(scenario.title, lines)
    })
  const sections = [
    ...tables,
    formatTranslationSection(shown, summary),
    formatMemorySection(measured),
    formatAllocationSection(measured),
    formatComparisonSection(measured.samples, shown),
    formatOverviewSection(measured),
    formatTargetSection(measured),
    formatWarning(measured.samples),
  ]
  return `${sections.filter((section) => section !== '').join('\n')}\n`
}

function formatSection(title: string, [head = [], ...lines]: Cell[][]): string {
  return lines.length === 0 ? '' : `\n${title}\n${formatTable([head, ...lines])}`
}

function buildCpuTable({ units }: Scenario, rows: Rows): Cell[][] {
  const unit = units > 1 ? 'event' : 'request'
  const head = ['', `CPU us/${unit}`, 'x relay', 'spread', 'x Portkey', `${unit}s/s`]
  const latencyHead = units > 1 ? [] : ['p50 ms', 'p99 ms', 'added p50', 'added p99']
  const lines = Object.entries(rows).map(([name, row]) => [
    name,
    formatMedian(row.cpuMicros, 1),
    formatMedian(row.timesRelay, 2),
    formatSpread(row.timesRelay, 2),
    formatMedian(row.timesPortkey, 3),
    formatMedian(row.perSecond, 0),
    ...(units > 1
      ? []
      : [row.p50, row.p99, row.addedP50, row.addedP99].map((figure) => formatMedian(figure, 2))),
    formatDisturbance(row.disturbance),
  ])
  return [[...head, ...latencyHead, 'others'], ...lines]
}

const rateHead = [
  'p50 ms',
  'p99 ms',
  'added p50',
  'over relay p50',
  'spread',
  'CPU us/request',
  'x relay',
  'spread',
]

function buildRateTable({ spec }: Scenario, rows: Rows): Cell[][] {
  const lines = Object.entries(rows).map(([name, row]) => {
    const over = spec.streamed ? row.overRelayFirstP50 : row.overRelayP50
    const times = spec.streamed
      ? [row.firstP50, row.firstP99, row.addedFirstP50, over]
      : [row.p50, row.p99, row.addedP50, over]
    return [
      name,
      ...times.map((figure) => formatMedian(figure, 2)),
      formatSpread(over, 2),
      formatMedian(row.cpuMicros, 0),
      formatMedian(row.timesRelay, 2),
      formatSpread(row.timesRelay, 2),
      formatDisturbance(row.disturbance),
    ]
  })
  return [['', ...rateHead, 'others'], ...lines]
}

function formatTranslationSection(scenarios: Scenario[], summary: Summary): string {
  const lines = scenarios.flatMap(({ id, title, spec, units }) => {
    const row = summary[id]?.headgate
    if (!spec.translation || !row) return []
    return [
      [
        title,
        `${formatMedian(row.cpuMicros, 1)} us/${units > 1 ? 'event' : 'request'}`,
        formatMedian(row.timesRelay, 2),
        formatSpread(row.timesRelay, 2),
        formatDisturbance(row.disturbance),
      ],
    ]
  })
  const head = ['', 'CPU', 'x relay', 'spread', 'others']
  return formatSection('Client format over another upstream format (relay: chat over chat)', [head, ...lines])
}

function formatMemorySection({ memory }: Measurements): string {
  const head = ['', 'idle MB', 'streams', 'open', 'open upstream', 'KB/stream', 'left upstream']
  const rows = Object.entries(memory).flatMap(([name, { idleBytes, steps, leftUpstream }]) =>
    steps.map((step) => [
      name,
      formatNumber(idleBytes / 2 ** 20, 0),
      String(step.requested),
      String(step.open),
      String(step.openUpstream),
      formatNumber(step.bytesPerStream / 1024, 1),
      String(leftUpstream),
    ]),
  )
  return formatSection('Open streams, nothing flowing', [head, ...rows])
}

function formatAllocationSection({ allocations }: Measurements): string {
  const rows = Object.entries(allocations).map(([name, { bytesPerRequest }]) => {
    const figure = toFigure(bytesPerRequest.map((bytes) => bytes / 1024))
    return [name, formatMedian(figure, 1), formatSpread(figure, 1)]
  })
  return formatSection('Memory that a 1 KB request allocates', [['', 'KB/request', 'spread'], ...rows])
}

function formatComparisonSection(samples: Samples, scenarios: Scenario[]): string {
  const rows = compareCheckouts(
    samples,
    scenarios.filter(({ id }) => samples[id]?.against),
  ).map((comparison) => [
    comparison.id,
    comparison.metric,
    formatNumber(comparison.here, 2),
    formatNumber(comparison.there, 2),
    formatChange(comparison.change.median),
    formatInterval(comparison.change.interval),
    String(comparison.pairs),
    formatComparison(comparison),
  ])
  const head = ['', 'metric', 'here', 'there', 'change', '95 % confidence', 'pairs', '']
  return formatSection('This checkout against the other', [head, ...rows])
}

function formatOverviewSection(measured: Measurements): string {
  const rows = buildOverview(measured).map(({ name, unit, digits, figure, disturbance }) => [
    name,
    `${formatMedian(figure, digits)} ${unit}`,
    formatSpread(figure, digits),
    disturbance ? formatDisturbance(disturbance) : '',
  ])
  return formatSection('Headgate', [['', 'median', 'spread', 'others'], ...rows])
}

function formatTargetSection(measured: Measurements): string {
  const rows = buildTargets(measured)
    .filter(({ value }) => value !== null)
    .map((target) => [
      target.name,
      `${formatNumber(target.value, 2)} ${target.unit}`,
      `<= ${target.atMost}`,
      formatVerdict(target),
    ])
  return formatSection('Targets', [['', 'value', 'at most', ''], ...rows])
}

function formatWarning(samples: Samples): string {
  const blocks = Object.values(samples).flatMap((byName) => Object.values(byName).flat())
  const disturbed = blocks.filter(({ disturbance }) => disturbance > disturbanceLimit).length
  if (disturbed === 0) return ''
  const limit = `${disturbanceLimit * 100} %`
  return [
    `\nThe machine was busy: in ${disturbed} of ${blocks.length} blocks, other processes or other guests of the host used more than ${limit} of its CPU.`,
    'Rounds with such a block were left out. Rows marked with ! had too few others, so all of theirs count: do not believe them, and repeat the run on a quiet machine.',
  ].join('\n')
}
