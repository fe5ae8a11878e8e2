import type { Schemas } from '../../api/client.ts'

type Explanation = Schemas['RequestExplanation']

export interface Bar {
  label: string
  detail: string
  /** Percent of the whole. */
  left: number
  width: number
  duration: number | null
  kind: 'stage' | 'success' | 'failure'
}

const stageLabels: Record<Explanation['stages'][number]['name'], [string, string]> = {
  gateway: ['Gateway', 'checks, routing and hold, until the first request to a provider'],
  rate_queue: ['Queue', 'waiting for the rate of the provider'],
  failed_attempts: ['Failed attempts', 'until the request to the last provider'],
  first_token: ['Waiting', 'until the provider began its reply'],
  reply: ['Reply', 'until the end of the reply'],
}

/** Too narrow to be seen otherwise. */
const minWidth = 0.5

/** Stages and attempts as bars on one scale. */
export function waterfallOf({ stages, attempts }: Pick<Explanation, 'stages' | 'attempts'>): Bar[] {
  const total = Math.max(
    1,
    ...[...stages, ...attempts].map(({ started, duration }) => (started ?? 0) + (duration ?? 0)),
  )
  const place = (started: number | null, duration: number | null) => {
    const width = Math.min(100, Math.max(((duration ?? 0) / total) * 100, minWidth))
    return { left: Math.min(((started ?? 0) / total) * 100, 100 - width), width, duration }
  }
  return [
    ...stages.map(({ name, started, duration }): Bar => {
      const [label, detail] = stageLabels[name]
      return { label, detail, ...place(started, duration), kind: 'stage' }
    }),
    ...attempts.map(({ provider, model, status, outcome, started, duration }, index): Bar => {
      const kind = outcome === 'completed' ? 'success' : 'failure'
      const detail = `${model}, ${outcome}${status === null ? ', no HTTP status' : `, HTTP ${status}`}`
      return { label: `Attempt ${index + 1}: ${provider}`, detail, ...place(started, duration), kind }
    }),
  ]
}
