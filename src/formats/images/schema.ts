import { z } from 'zod'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'
import { maxImageReferences } from '../vocabulary.ts'
import { resolutions } from './geometry.ts'

export const aspectRatios = [
  '1:1',
  '1:2',
  '1:4',
  '1:8',
  '2:1',
  '2:3',
  '3:2',
  '3:4',
  '4:1',
  '4:3',
  '4:5',
  '5:4',
  '8:1',
  '9:16',
  '16:9',
  '9:19.5',
  '19.5:9',
  '9:20',
  '20:9',
  '9:21',
  '21:9',
  'auto',
  '2.35:1',
  '5:2',
] as const

const imagePreferences = providerPreferences
  .extend({
    options: z
      .record(z.string(), z.record(z.string(), z.unknown()))
      .optional()
      .describe('Options for one provider, by its slug: those in `allowed_passthrough_parameters`'),
  })
  .meta({ id: 'ImageProviderPreferences' })

const reference = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string().min(1).describe('An https URL, or a data URL in base64') }),
})

/** The options of a request, as JSON and as fields of a form. Clients send null for an absent value. */
export const imageOptionFields = {
  n: z.int().min(1).max(10).nullish().describe('The number of images'),
  size: z
    .string()
    .regex(/^(?:auto|512|1K|2K|4K|[1-9]\d{1,4}x[1-9]\d{1,4})$/, 'must be WxH, 512, 1K, 2K, 4K or auto')
    .nullish()
    .describe('Pixels such as `1536x1024`, or the same as `resolution`'),
  resolution: z.enum(resolutions).nullish(),
  aspect_ratio: z.enum(aspectRatios).nullish(),
  quality: z.enum(['auto', 'low', 'medium', 'high', 'xhigh', 'max', 'standard', 'hd']).nullish(),
  background: z.enum(['auto', 'transparent', 'opaque']).nullish(),
  output_format: z.enum(['png', 'jpeg', 'webp', 'gif', 'svg']).nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  seed: z.int().nullish(),
  stream: z.boolean().nullish().describe('Sends previews and the images as server-sent events'),
  partial_images: z.int().min(0).max(3).nullish().describe('Previews of each image of a streamed reply'),
  response_format: z
    .literal('b64_json', 'must be b64_json: images are part of the reply, and are not stored for download')
    .nullish(),
  user: z.string().max(256).nullish(),
  session_id: sharedFields.session_id,
}

const prompt = z.string().min(1)
const model = z.string().min(1).max(256)

/** A request for images, as JSON. */
export const imageRequest = z
  .looseObject({
    model,
    prompt,
    ...imageOptionFields,
    input_references: z.array(reference).max(maxImageReferences).nullish(),
    provider: imagePreferences.nullish(),
    trace: sharedFields.trace,
  })
  .meta({ id: 'ImageGenerationRequest' })

/** The fields of a form as text, once converted. */
export const imageEditOptions = z.looseObject({
  model,
  prompt,
  ...imageOptionFields,
  provider: imagePreferences.nullish(),
})

const file = z.string().meta({ format: 'binary' })

/** Describes the form in openapi.json only: the handler reads it itself. */
export const imageEditForm = z
  .looseObject({
    model,
    prompt,
    image: z.union([file, z.array(file).max(maxImageReferences)]).describe('Also as `image[]`'),
    mask: file.optional(),
    ...imageOptionFields,
    provider: z.string().optional().describe('Provider preferences as JSON'),
  })
  .meta({ id: 'ImageEditForm' })

export type ImageOptions = z.output<typeof imageEditOptions>
export type ImageRequest = z.output<typeof imageRequest>
