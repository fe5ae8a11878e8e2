import { inputModalities, outputModalities } from '../../../formats/vocabulary.ts'
import { asObject, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import { decimalPrice } from '../../price.ts'
import type { ListedModel } from '../listed-model.ts'

/** The first of the values that is a number of tokens. */
export function findCount(...values: unknown[]): number | undefined {
  return values.find((value): value is number => Number.isSafeInteger(value) && (value as number) > 0)
}

export function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value }
}

/** Those of the modalities that are known here; undefined if there are none. */
export function readInputs(values: unknown): ListedModel['input_modalities'] {
  return pick(values, inputModalities)
}

export function readOutputs(values: unknown): ListedModel['output_modalities'] {
  return pick(values, outputModalities)
}

function pick<Word extends string>(values: unknown, words: readonly Word[]): Word[] | undefined {
  if (!Array.isArray(values)) return undefined
  const named = new Set(values.map((value) => String(value).toLowerCase()))
  const known = words.filter((word) => named.has(word))
  return known.length > 0 ? known : undefined
}

const priceFields = ['request', 'image', 'web_search', 'input_cache_read', 'input_cache_write'] as const

/**
 * Prices in USD per unit as decimal strings. Undefined unless those of tokens are known: -1 stands for a price that
 * varies. A zero beside them means that nothing is charged separately.
 */
export function readPricing(value: unknown): ListedModel['pricing'] {
  const source = asObject(value)
  const prompt = readPrice(source, 'prompt')
  const completion = readPrice(source, 'completion')
  if (!source || prompt === undefined || completion === undefined) return undefined
  const others = priceFields.flatMap((name) => {
    const price = readPrice(source, name)
    return price === undefined || Number(price) === 0 ? [] : [[name, price]]
  })
  return { prompt, completion, ...Object.fromEntries(others) }
}

function readPrice(source: JsonObject | undefined, name: string): string | undefined {
  const text = asString(source?.[name])
  return text !== undefined && decimalPrice.safeParse(text).success ? text : undefined
}
