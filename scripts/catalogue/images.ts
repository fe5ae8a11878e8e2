import type { ModelDeclaration } from '../../src/catalogue/declared-model.ts'
import type { Pricing } from '../../src/catalogue/price.ts'

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

/** Images are billed by tokens, whose number depends on size and quality. */
export function buildImageCapabilities(id: string, prices: Pricing): Image {
  const [, supported_parameters = {}, supports_streaming = false] =
    parameterRules.find(([pattern]) => pattern.test(id)) ?? []
  const entries: [NonNullable<Image['pricing']>[number]['billable'], string | undefined][] = [
    ['output_image', prices.image_output ?? prices.completion],
    ['input_image', prices.image_token ?? prices.prompt],
    ['input_text', prices.prompt],
  ]
  return {
    supported_parameters,
    supports_streaming,
    pricing: entries.flatMap(([billable, cost_usd]) =>
      cost_usd ? [{ billable, unit: 'token', cost_usd }] : [],
    ),
  }
}
