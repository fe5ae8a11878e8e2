import type { Pricing } from '../../src/catalog/price.ts'
import { endpointKey, type Offer } from './offer.ts'

/** A fact of one endpoint on which the sources differ. */
export interface Disagreement {
  model: string
  endpoint: string
  field: string
  package: string
  list: string
}

export interface MergedOffers {
  offers: Offer[]
  disagreements: Disagreement[]
  /** Endpoints that both sources have. */
  compared: number
}

/** One offer for each endpoint. Where the sources differ the newer one wins; what one lacks comes from the other. */
export function mergeOffers(fromPackage: Offer[], fromList: Offer[], isListNewer: boolean): MergedOffers {
  const listed = new Map(fromList.map((offer) => [endpointKey(offer), offer]))
  const disagreements: Disagreement[] = []
  let compared = 0
  const merged = fromPackage.map((offer) => {
    const other = listed.get(endpointKey(offer))
    if (!other) return offer
    listed.delete(endpointKey(offer))
    compared++
    disagreements.push(...compareOffers(offer, other))
    return mergePair(offer, other, isListNewer)
  })
  return { offers: alignTiers([...merged, ...listed.values()]), disagreements, compared }
}

/** A service tier has the limits of the default one. */
function alignTiers(offers: Offer[]): Offer[] {
  const byKey = new Map(offers.map((offer) => [endpointKey(offer), offer]))
  return offers.map((offer) => {
    const { tier: _, ...rest } = offer
    const base = offer.tier && byKey.get(endpointKey(rest))
    if (!base) return offer
    const { context, maxPrompt, maxCompletion } = base
    return {
      ...offer,
      ...(context && { context }),
      ...(maxPrompt && { maxPrompt }),
      ...(maxCompletion && { maxCompletion }),
    }
  })
}

function mergePair(old: Offer, listed: Offer, isListNewer: boolean): Offer {
  const [newer, older] = isListNewer ? [listed, old] : [old, listed]
  const isSameUnit = newer.promptUnit === older.promptUnit
  const pricing =
    newer.pricing && older.pricing && isSameUnit
      ? mergePricing(newer.pricing, older.pricing)
      : (newer.pricing ?? older.pricing)
  return {
    ...listed,
    ...old,
    promptUnit: newer.pricing ? newer.promptUnit : older.promptUnit,
    ...(pricing && { pricing }),
    ...resolveContext(old.context, listed, isListNewer),
    ...(listed.maxCompletion && { maxCompletion: listed.maxCompletion }),
    ...(listed.entry && { entry: listed.entry }),
  }
}

/** The conditions of the older source are kept only with the prices they belong to. */
function mergePricing(newer: Pricing, older: Pricing): Pricing {
  const hasSamePrices = newer.prompt === older.prompt && newer.completion === older.completion
  const { overrides, ...base } = older
  const isComparable = !hasWindows(newer) && !hasWindows(older)
  return {
    ...(isComparable || hasSamePrices ? base : {}),
    ...newer,
    ...listExactPrices(newer, older),
    ...(overrides && !newer.overrides && hasSamePrices && { overrides }),
  }
}

/** The older source's price, where the newer one has it rounded or has none. */
function listExactPrices(newer: Pricing, older: Pricing): Partial<Pricing> {
  const exact = comparedPrices.filter((key) => isRounded(newer[key], older[key]))
  return Object.fromEntries(exact.map((key) => [key, older[key]]))
}

/** `0.00003083` is `0.000030833333333333` rounded; a zero is a price that the source does not have. */
function isRounded(short: unknown, long: unknown): boolean {
  if (typeof short !== 'string' || typeof long !== 'string') return false
  if (short === '0') return true
  const digits = short.replace(/^0\.0*|\./g, '').length
  return (
    digits > 2 && long.length > short.length && Number(Number(long).toPrecision(digits)) === Number(short)
  )
}

function hasWindows({ overrides = [] }: Pricing): boolean {
  return overrides.some(({ utc_start, utc_days }) => utc_start !== undefined || utc_days !== undefined)
}

/**
 * The price list has the longest prompt, which some providers limit to the context without the longest reply. Where
 * that explains the difference, both are known; otherwise they disagree.
 */
function resolveContext(
  context: number | undefined,
  listed: Offer,
  isListNewer: boolean,
): Pick<Offer, 'context' | 'maxPrompt'> {
  const { context: prompt, maxCompletion = 0 } = listed
  if (context === undefined || prompt === undefined) {
    const known = context ?? prompt
    return known ? { context: known } : {}
  }
  if (isPromptLimit(context, prompt, maxCompletion)) return { context, maxPrompt: prompt }
  return { context: isListNewer ? prompt : context }
}

function isPromptLimit(context: number, prompt: number, maxCompletion: number): boolean {
  return prompt < context && prompt + maxCompletion >= context
}

const comparedPrices: (keyof Pricing)[] = [
  'prompt',
  'completion',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
  'audio',
  'audio_output',
  'input_audio_cache',
  'image_token',
  'image_output',
  'request',
  'web_search',
]

function compareOffers(old: Offer, listed: Offer): Disagreement[] {
  const subject = { model: old.id, endpoint: [old.provider, ...(old.variant ? [old.variant] : [])].join('/') }
  const facts = [...comparePrices(old, listed), ...compareContexts(old, listed)]
  return facts.map((fact) => ({ ...subject, ...fact }))
}

type Difference = Pick<Disagreement, 'field' | 'package' | 'list'>

/** Prices by the hour of the day are written differently in the sources and not compared. */
function comparePrices(old: Offer, listed: Offer): Difference[] {
  const [a, b] = [old.pricing, listed.pricing]
  if (!a || !b || hasWindows(a) || hasWindows(b)) return []
  if (old.promptUnit !== listed.promptUnit) {
    return [{ field: 'unit', package: old.promptUnit, list: listed.promptUnit }]
  }
  return [...compareKeys(a, b, ''), ...compareLongPrompts(a, b)]
}

function compareKeys(a: PriceSet, b: PriceSet, suffix: string): Difference[] {
  return comparedPrices.flatMap((key) => {
    const [before, after] = [a[key], b[key]]
    const isDifferent = before !== undefined && after !== undefined && before !== after
    return isDifferent && !isRounded(after, before) && !isRounded(before, after)
      ? [{ field: key + suffix, package: String(before), list: String(after) }]
      : []
  })
}

type PriceSet = { [Key in keyof Pricing]?: unknown }

/** The prices for prompts above a size that both sources name. */
function compareLongPrompts({ overrides = [] }: Pricing, listed: Pricing): Difference[] {
  return overrides.flatMap((override) => {
    const size = override.min_prompt_tokens
    const other = listed.overrides?.find(({ min_prompt_tokens }) => min_prompt_tokens === size)
    return other ? compareKeys(override, other, ` above ${size} tokens`) : []
  })
}

function compareContexts(old: Offer, listed: Offer): Difference[] {
  const { context: prompt, maxCompletion = 0 } = listed
  if (old.context === undefined || prompt === undefined || old.context === prompt) return []
  return isPromptLimit(old.context, prompt, maxCompletion)
    ? []
    : [{ field: 'context_length', package: String(old.context), list: String(prompt) }]
}
