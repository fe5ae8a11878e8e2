/** One row of the second source: a model of one provider, or one size and quality of an image model. */
export interface PriceEntry {
  key: string
  /** The provider's name in the source. */
  seller: string
  mode: string
  fields: Readonly<Record<string, unknown>>
}

/** The price list of the litellm package: an object of models by key. */
export function parsePriceList(text: string): PriceEntry[] {
  const list: unknown = JSON.parse(text)
  if (!isRecord(list)) throw new Error('the price list is not an object of models')
  return Object.entries(list).flatMap(([key, fields]) => {
    if (!isRecord(fields)) return []
    const { litellm_provider: seller, mode } = fields
    return typeof seller === 'string' && typeof mode === 'string' ? [{ key, seller, mode, fields }] : []
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A positive number; the source has zeros for prices that it does not know. More than 15 digits are the rounding of
 * binary arithmetic in the source: 1.2800000000000001e-7 was 1.28e-7.
 */
export function readPrice({ fields }: Pick<PriceEntry, 'fields'>, name: string): number | undefined {
  const value = fields[name]
  return typeof value === 'number' && value > 0 ? Number(value.toPrecision(15)) : undefined
}

/** A positive count; some are written as floating-point numbers. */
export function readCount({ fields }: Pick<PriceEntry, 'fields'>, name: string): number | undefined {
  const value = fields[name]
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

/** Capability flags are true, false or absent, which means unknown. */
export function readFlag({ fields }: Pick<PriceEntry, 'fields'>, name: string): boolean | undefined {
  const value = fields[name]
  return typeof value === 'boolean' ? value : undefined
}
