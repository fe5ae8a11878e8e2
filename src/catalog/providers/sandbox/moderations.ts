import type { ModerationsCall, ModerationsReply } from '../../../formats/call/moderations.ts'
import { zeroUsage } from '../../../formats/call/usage.ts'
import type { MediaSimulator } from '../simulation.ts'
import { buildFailure, readDirectives } from './directives.ts'
import { countTextTokens } from './tokens.ts'

const categories = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
]

/** A category is flagged if its name is in the text. */
export const simulateModerations: MediaSimulator<ModerationsCall, ModerationsReply> = async (
  { texts, count },
  _model,
  { sleep },
) => {
  const { directives } = readDirectives(texts.join('\n'))
  if (directives.startDelayMs) await sleep(directives.startDelayMs)
  const failure = buildFailure(directives)
  if (failure) return { failure }
  const contents = count === 1 ? [texts.join('\n')] : texts
  const usage = { ...zeroUsage, input: countTextTokens(...texts) }
  return { reply: { results: contents.map(classify), usage, units: [] } }
}

function classify(text: string) {
  const words = new Set(text.toLowerCase().split(/[^a-z/-]+/))
  const flags = categories.map((category) => [category, words.has(category)] as const)
  return {
    flagged: flags.some(([, isFlagged]) => isFlagged),
    categories: Object.fromEntries(flags),
    category_scores: Object.fromEntries(
      flags.map(([category, isFlagged]) => [category, isFlagged ? 0.99 : 0.01]),
    ),
    category_applied_input_types: Object.fromEntries(categories.map((category) => [category, ['text']])),
  }
}
