import type { CountedLimit } from '../../governance/limits/counts.ts'
import type { LimitMeasure } from '../../governance/limits/limit-rule.ts'
import type { WindowPosition } from '../../governance/limits/window.ts'

type CountedUse = Pick<CountedLimit, 'applied' | 'position'> & { take: { used: number } }

interface NearestCount {
  limit: number
  remaining: number
  position: WindowPosition
}

/** The measures that client libraries know, by their names in the headers of OpenAI and of Anthropic. */
const headerNames: { readonly [M in LimitMeasure]?: { openai?: string; anthropic: string } } = {
  requests: { openai: 'requests', anthropic: 'requests' },
  tokens: { openai: 'tokens', anthropic: 'tokens' },
  input_tokens: { anthropic: 'input-tokens' },
  output_tokens: { anthropic: 'output-tokens' },
}

/** The headers that say what is left of the limits that are closest, for each measure. */
export function buildRateHeaders(counted: readonly CountedUse[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [measure, { limit, remaining, position }] of findNearest(counted)) {
    const names = headerNames[measure]
    if (!names) continue
    const { openai, anthropic } = names
    if (openai) {
      headers[`x-ratelimit-limit-${openai}`] = String(limit)
      headers[`x-ratelimit-remaining-${openai}`] = String(remaining)
    }
    headers[`anthropic-ratelimit-${anthropic}-limit`] = String(limit)
    headers[`anthropic-ratelimit-${anthropic}-remaining`] = String(remaining)
    if (position.end === null) continue
    const at = position.end - (position.start + elapsedOf(position))
    if (openai) headers[`x-ratelimit-reset-${openai}`] = formatDuration(at)
    headers[`anthropic-ratelimit-${anthropic}-reset`] =
      `${new Date(position.end).toISOString().slice(0, 19)}Z`
  }
  return headers
}

function elapsedOf({ now, windowMs }: WindowPosition): number {
  return now % windowMs
}

function findNearest(counted: readonly CountedUse[]): Map<LimitMeasure, NearestCount> {
  const nearest = new Map<LimitMeasure, NearestCount>()
  for (const { applied, position, take } of counted) {
    const { measure, amount } = applied.rule
    const limit = Number(amount)
    const remaining = Math.max(0, limit - take.used)
    const known = nearest.get(measure)
    if (!known || remaining / limit < known.remaining / known.limit)
      nearest.set(measure, { limit, remaining, position })
  }
  return nearest
}

/** A duration such as `6m0s` or `120ms`, as OpenAI writes it. */
function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`
  const seconds = Math.ceil(ms / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  const parts = [hours > 0 ? `${hours}h` : '', hours > 0 || minutes > 0 ? `${minutes}m` : '']
  return `${parts.join('')}${seconds % 60}s`
}
