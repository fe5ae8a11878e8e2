import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { Pricing } from '../../src/catalog/price.ts'
import { shiftLeft } from './decimal.ts'
import { type PriceEntry, readPrice } from './price-list.ts'

export type ImageRow = NonNullable<NonNullable<ModelDeclaration['image']>['pricing']>[number]
export type VideoSkus = Record<string, string>

/** `low/1024-x-1024/gpt-image-1`: the prices of one quality and size of a model are keys of their own. */
const sizedKeyPattern =
  /^(?:([a-z-]+)\/)?(?:(low|medium|high|standard|hd)\/)?(\d+)-x-(\d+)\/(?!.*steps)([^/]+)$/

interface SizedKey {
  /** The key of the model itself. */
  base: string
  variant: string
}

/** Quality first, then the size; undefined for a key of a whole model. */
export function parseSizedKey(key: string): SizedKey | undefined {
  const [, prefix, quality, width, height, name] = sizedKeyPattern.exec(key) ?? []
  if (name === undefined) return undefined
  const isQuality = quality === undefined && /^(low|medium|high|standard|hd)$/.test(prefix ?? '')
  const words = [isQuality ? prefix : quality, `${width}x${height}`].filter(Boolean)
  return {
    base: prefix && !isQuality ? `${prefix}/${name}` : name,
    variant: words.join(' '),
  }
}

/** Rows by the image or megapixel; images billed by tokens have token prices instead. */
export function convertImageRows(entry: PriceEntry, variant?: string): ImageRow[] {
  const output = readPrice(entry, 'output_cost_per_image')
  const input = readPrice(entry, 'input_cost_per_image')
  const pixel = readPrice(entry, 'input_cost_per_pixel') ?? readPrice(entry, 'output_cost_per_pixel')
  const suffix = variant === undefined ? {} : { variant }
  const toRow = (billable: ImageRow['billable'], price: number): ImageRow => ({
    billable,
    unit: 'image',
    cost_usd: shiftLeft(price, 0),
    ...suffix,
  })
  if (output !== undefined) {
    return [toRow('output_image', output), ...(input === undefined ? [] : [toRow('input_image', input)])]
  }
  // Without a price of the output, the source has the price of the image under its input.
  if (input !== undefined) return [toRow('output_image', input)]
  if (pixel === undefined) return []
  return [{ billable: 'output_image', unit: 'megapixel', cost_usd: shiftLeft(pixel, -6), ...suffix }]
}

/** Images billed by tokens, whose number depends on size and quality. */
export function buildTokenRows(prices: Pricing): ImageRow[] {
  const entries: [ImageRow['billable'], string | undefined][] = [
    ['output_image', prices.image_output ?? prices.completion],
    ['input_image', prices.image_token ?? prices.prompt],
    ['input_text', prices.prompt],
  ]
  return entries.flatMap(([billable, cost_usd]) =>
    cost_usd && cost_usd !== '0' ? [{ billable, unit: 'token', cost_usd }] : [],
  )
}

/** The names of resolutions in the source and in the catalog. */
const resolutions: Record<string, string> = {
  '360p': '360p',
  '480p': '480p',
  '720p': '720p',
  '768p': '768p',
  '1080p': '1080p',
  '1k': '1K',
  '2k': '2K',
  '4k': '4K',
}

/** Videos by the second, for each resolution with a price of its own, or by the token. */
export function convertVideoSkus(entry: PriceEntry): VideoSkus {
  const second =
    readPrice(entry, 'output_cost_per_second') ?? readPrice(entry, 'output_cost_per_video_per_second')
  const token = readPrice(entry, 'output_cost_per_video_token')
  const byResolution = Object.entries(resolutions).flatMap(([name, resolution]) => {
    const price = readPrice(entry, `output_cost_per_second_${name}`)
    return price === undefined ? [] : [[`per_second_${resolution}`, shiftLeft(price, 0)]]
  })
  return Object.fromEntries([
    ...(second === undefined ? [] : [['per_second', shiftLeft(second, 0)]]),
    ...byResolution,
    ...(token === undefined || second !== undefined ? [] : [['per_token', shiftLeft(token, 0)]]),
  ])
}
