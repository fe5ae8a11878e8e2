import { asCount, asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { hasAnyCount } from '../token-counts.ts'

const countFields = ['input_tokens', 'output_tokens']

/** The tokens on the bill, which are fewer than those of the prompt. Null when there are no counts. */
export function decodeUsage({ billed_units, tokens }: JsonObject): Usage | null {
  const counts = [asObject(billed_units), asObject(tokens)].find(
    (object) => object !== undefined && hasAnyCount(object, countFields),
  )
  if (!counts) return null
  return { ...zeroUsage, input: asCount(counts.input_tokens), output: asCount(counts.output_tokens) }
}
