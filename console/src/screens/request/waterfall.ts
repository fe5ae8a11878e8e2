import type { Schemas } from '../../api/client.ts'

type Explanation = Schemas['RequestExplanation']
type Line = Schemas['BillLine']

export interface Bar {
  key: string
  label: string
  detail: string
  /** Percent of the whole; null if the moment is not recorded. */
  left: number | null
  width: number
  duration: number | null
  kind: 'stage' | 'success' | 'failure' | 'tool' | 'nested'
  /** Set for a request with a record of its own. */
  requestId: string | null
}

/** A request that was made for another one. */
export type NestedRequest = Pick<Schemas['LoggedRequest'], 'id' | 'created_at' | 'latency' | 'status'>

export interface WaterfallSource {
  explanation: Pick<Explanation, 'stages' | 'attempts' | 'created_at'>
  lines: readonly Line[]
  nested: readonly NestedRequest[]
}

export interface Waterfall {
  bars: Bar[]
  /** Milliseconds of the whole. */
  total: number
}

const stageLabels: Record<Explanation['stages'][number]['name'], [string, string]> = {
  gateway: ['Gateway', 'checks, routing and hold, until the first request to a provider'],
  rate_queue: ['Queue', 'waiting for the rate of the provider'],
  failed_attempts: ['Failed attempts', 'until the request to the last provider'],
  first_token: ['Waiting', 'until the provider began its reply'],
  reply: ['Reply', 'until the end of the reply'],
}

const lineLabels: Record<Line['kind'], string> = {
  turn: 'Turn',
  tool: 'Tool',
  plugin: 'Plugin',
  request: 'Nested request',
}

/** Too narrow to be seen otherwise. */
const minWidth = 0.5

interface Step extends Omit<Bar, 'left' | 'width'> {
  started: number | null
}

/** Stages, attempts, tools and nested requests as bars on one scale. */
export function waterfallOf({ explanation, lines, nested }: WaterfallSource): Waterfall {
  const steps = [...explanation.stages.map(stepOfStage), ...explanation.attempts.map(stepOfAttempt)]
  const turns = lines.filter(({ kind }) => kind === 'turn').length
  const arrival = Date.parse(explanation.created_at)
  const byId = new Map(nested.map((request) => [request.id, request]))
  const inner = lines
    // The only turn is the reply above.
    .filter(({ kind }) => kind !== 'turn' || turns > 1)
    .map((line, index) => stepOfLine(line, `line ${index}`, byId.get(line.generation_id ?? ''), arrival))
  const all = [...steps, ...inner]
  const total = Math.max(1, ...all.map(({ started, duration }) => (started ?? 0) + (duration ?? 0)))
  return { bars: all.map((step) => place(step, total)), total }
}

function place({ started, ...step }: Step, total: number): Bar {
  const width = Math.min(100, Math.max(((step.duration ?? 0) / total) * 100, minWidth))
  return { ...step, left: started === null ? null : Math.min((started / total) * 100, 100 - width), width }
}

function stepOfStage({ name, started, duration }: Explanation['stages'][number]): Step {
  const [label, detail] = stageLabels[name]
  return { key: name, label, detail, started, duration, kind: 'stage', requestId: null }
}

function stepOfAttempt(
  { provider, model, status, outcome, started, duration }: Explanation['attempts'][number],
  index: number,
): Step {
  return {
    key: `attempt ${index}`,
    label: `Attempt ${index + 1}: ${provider}`,
    detail: `${model}, ${outcome}${status === null ? ', no HTTP status' : `, HTTP ${status}`}`,
    kind: outcome === 'completed' ? 'success' : 'failure',
    ...{ started, duration, requestId: null },
  }
}

function stepOfLine(line: Line, key: string, nested: NestedRequest | undefined, arrival: number): Step {
  const { kind, name, provider, quantity, started, duration, generation_id } = line
  const isFailed = nested !== undefined && nested.status !== 'completed'
  return {
    key,
    label: `${lineLabels[kind]}: ${quantity > 1 ? `${name} × ${quantity}` : name}`,
    detail: [provider, isFailed ? nested.status : null].filter((part) => part !== null).join(', '),
    kind: isFailed ? 'failure' : generation_id === null ? 'tool' : 'nested',
    requestId: generation_id,
    started: nested === undefined ? started : Math.max(0, Date.parse(nested.created_at) - arrival),
    duration: nested?.latency ?? duration,
  }
}
