import { parseSize, type VideoCall, type VideoProgress } from '../../../formats/call/video.ts'
import { asString, type JsonObject } from '../../../platform/json/json-values.ts'
import type { VideoSimulator } from '../simulation.ts'
import { renderFilm } from './artifacts/film.ts'
import { buildFailure, type Directives, readDirectives } from './directives.ts'

/** Milliseconds a job is pending, and then in progress. */
const stateMs = 1000

const outcomes = ['completed', 'failed', 'cancelled', 'expired'] as const
type Outcome = (typeof outcomes)[number]

/** Video jobs that pass through their states and end with a film. See docs/sandbox.md. */
export const filmmaker: VideoSimulator = {
  async submit({ prompt }, options, { now, sleep }) {
    const { directives } = readDirectives(prompt)
    if (directives.startDelayMs) await sleep(directives.startDelayMs)
    const failure = buildFailure(directives)
    if (failure) return { failure }
    const pace = directives.deltaDelayMs ?? stateMs
    return { id: `film-${now}-${pace}-${chooseOutcome(directives, options)}` }
  },

  poll(id, now) {
    const [, startedAt = '0', pace = '0', outcome = 'failed'] = id.split('-')
    const elapsed = now - Number(startedAt)
    const total = 2 * Number(pace)
    if (elapsed < Number(pace)) return { status: 'pending', percent: 0 }
    if (elapsed < total) return { status: 'in_progress', percent: Math.floor((100 * elapsed) / total) }
    return finish(outcomes.find((name) => name === outcome) ?? 'failed')
  },

  render(call) {
    const { width, height } = (call.size === null ? null : parseSize(call.size)) ?? defaultSize
    return renderFilm({
      text: describeFilm(call),
      width,
      height,
      seconds: call.duration ?? 4,
      withAudio: call.audio ?? false,
      seed: call.seed ?? 0,
    })
  },
}

const defaultSize = { width: 1280, height: 720 }

function chooseOutcome({ failAfter, refuse, filter }: Directives, { outcome }: JsonObject): Outcome {
  if (failAfter !== undefined || refuse || filter) return 'failed'
  return outcomes.find((name) => name === asString(outcome)) ?? 'completed'
}

function finish(outcome: Outcome): VideoProgress {
  if (outcome !== 'completed')
    return { status: outcome, message: `The sandbox was directed to end as ${outcome}.` }
  return { status: 'completed', urls: ['/film'], seconds: null, tokens: null }
}

/** A film that continues another says so. */
function describeFilm({ prompt, previous }: VideoCall): string {
  const text = readDirectives(prompt).rest
  return previous ? `...${text}` : text
}
