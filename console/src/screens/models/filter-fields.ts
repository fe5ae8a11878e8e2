import type { CompletedField } from '../../components/filter-input.tsx'
import type { BoundField } from '../../components/filter-query.ts'
import { inputs } from './filters.ts'

const abilities = [
  'tools',
  'structured_outputs',
  'response_format',
  'reasoning',
  'temperature',
  'seed',
  'logprobs',
]

const values: CompletedField[] = [
  { name: 'provider', parameter: 'provider', source: 'provider', hint: 'Who serves it' },
  { name: 'author', parameter: 'author', hint: 'Such as anthropic' },
  { name: 'input', parameter: 'input', values: inputs, hint: 'What prompts may have' },
  { name: 'supports', parameter: 'supports', suggestions: abilities, hint: 'Parameter, such as tools' },
  { name: 'region', parameter: 'region', values: ['eu', 'us'], hint: 'Where it runs' },
]

const readPrice = (text: string) => /^\$?(\d{1,6}(?:\.\d{1,6})?)$/.exec(text)?.[1] ?? null

function readTokens(text: string): string | null {
  const [, digits, unit = ''] = /^(\d{1,6}(?:\.\d)?)(k|m)?$/i.exec(text) ?? []
  const factor = { k: 1000, m: 1_000_000 }[unit.toLowerCase()] ?? 1
  const tokens = Math.round(Number(digits ?? 0) * factor)
  return tokens > 0 ? String(tokens) : null
}

/** Each has one end that the API knows: the shortest context, the highest price. */
const bounds: BoundField[] = [
  { name: 'context', min: 'context', unit: ' tokens', example: 'context>128k', read: readTokens },
  { name: 'price', max: 'max_price', unit: '$', example: 'price<5', read: readPrice },
  { name: 'outputprice', max: 'max_output_price', unit: '$', example: 'outputprice<10', read: readPrice },
]

export const modelFields = { values, bounds, text: 'q' }
