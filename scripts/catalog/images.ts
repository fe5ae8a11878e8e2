import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { ImageRow } from './entry-media.ts'

type Image = NonNullable<ModelDeclaration['image']>
type Parameters = NonNullable<Image['supported_parameters']>

const ratios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']

/** The parameters of image requests by model name, from the authors' documentation. */
const parameterRules: [RegExp, Parameters, boolean][] = [
  [
    /\/gpt-image-1/,
    {
      n: { type: 'range', min: 1, max: 10 },
      quality: { type: 'enum', values: ['auto', 'low', 'medium', 'high'] },
      size: { type: 'enum', values: ['auto', '1024x1024', '1536x1024', '1024x1536'] },
      background: { type: 'enum', values: ['auto', 'transparent', 'opaque'] },
      output_format: { type: 'enum', values: ['png', 'jpeg', 'webp'] },
      output_compression: { type: 'range', min: 0, max: 100 },
    },
    true,
  ],
  [/gemini-2\.5-flash-image/, { aspect_ratio: { type: 'enum', values: ratios } }, false],
  [
    /gemini-3.*-image/,
    {
      aspect_ratio: { type: 'enum', values: ratios },
      resolution: { type: 'enum', values: ['1K', '2K', '4K'] },
    },
    false,
  ],
]

/** Builds the parameters of requests, and the prices; sizes and qualities with prices of their own can be chosen. */
export function buildImageCapabilities(id: string, pricing: ImageRow[]): Image {
  const [, known, supports_streaming = false] = parameterRules.find(([pattern]) => pattern.test(id)) ?? []
  return {
    supported_parameters: known ?? listPricedParameters(pricing),
    allowed_passthrough_parameters: [],
    supports_streaming,
    pricing,
  }
}

/** A row without a variant is the price of every other value, which the sources do not have. */
function listPricedParameters(rows: ImageRow[]): Parameters {
  if (rows.some(({ variant }) => variant === undefined)) return {}
  const words = rows.flatMap(({ variant }) => variant?.split(' ') ?? [])
  const sizes = words.filter((word) => /^\d/.test(word))
  const qualities = words.filter((word) => !/^\d/.test(word))
  const toEnum = (values: string[]) => ({ type: 'enum' as const, values: [...new Set(values)] })
  return {
    ...(qualities.length > 0 && { quality: toEnum(qualities) }),
    ...(sizes.length > 0 && { size: toEnum(sizes) }),
  }
}
