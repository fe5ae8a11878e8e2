import { usdFromNanos } from '../../../platform/money/money.ts'
import type { StoredReply, Votes } from './store.ts'

export type ReplyFigures = Pick<
  StoredReply,
  'prompt' | 'model' | 'has_error' | 'cost_nanos' | 'first_token_ms' | 'latency_ms'
>

/** Votes, cost and times of each model, in the order of the models. */
export function sumUp(models: readonly string[], replies: readonly ReplyFigures[], counts: Votes['counts']) {
  const winners = listWinners(counts)
  return models.map((name, model) => {
    const own = replies.filter((reply) => reply.model === model)
    const complete = own.filter(({ has_error }) => has_error === 0)
    return {
      model: name,
      replies: complete.length,
      votes: counts.reduce((sum, vote) => (vote.model === model ? sum + vote.count : sum), 0),
      wins: winners.filter((winner) => winner === model).length,
      cost: usdFromNanos(own.reduce((sum, { cost_nanos }) => sum + (cost_nanos ?? 0n), 0n)),
      latency: meanOf(complete.map(({ first_token_ms, latency_ms }) => first_token_ms ?? latency_ms)),
      generation_time: meanOf(complete.map(({ latency_ms }) => latency_ms)),
    }
  })
}

/** The model of each prompt that has more votes than every other; a tie has none. */
function listWinners(counts: Votes['counts']): number[] {
  return [...Map.groupBy(counts, ({ prompt }) => prompt).values()].flatMap((ofPrompt) => {
    const [first, second] = ofPrompt.toSorted((a, b) => b.count - a.count)
    return first && first.count > (second?.count ?? 0) ? [first.model] : []
  })
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}
