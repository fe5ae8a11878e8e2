import { z } from 'zod'
import { videoFields } from '../../catalogue/declared-model.ts'
import type { Model } from '../../catalogue/model.ts'
import { defineOperation } from '../../http/operation.ts'
import { availabilityQuery, listReachableModels } from '../../pipeline/routing/model-access.ts'

const videoModel = z
  .strictObject({
    id: z.string(),
    canonical_slug: z.string(),
    name: z.string(),
    created: z.int(),
    description: z.string(),
    model_hub_id: z.string().nullable(),
    ...videoFields,
    allowed_passthrough_parameters: z.array(z.string()),
    pricing_skus: z
      .record(z.string(), z.string())
      .nullable()
      .describe('The price of each billed unit, in USD.'),
  })
  .meta({ id: 'VideoModel' })

const listVideoModels = defineOperation({
  id: 'listVideoModels',
  method: 'GET',
  path: '/videos/models',
  tag: 'Video Generation',
  summary: 'Lists the models that generate videos.',
  access: 'any',
  query: z.object(availabilityQuery),
  response: z.strictObject({ data: z.array(videoModel) }),
  handle: async (context) => ({
    data: (await listReachableModels(context, context.query))
      .filter((model) => model.output_modalities.includes('video'))
      .map((model) => toVideoModel(model)),
  }),
})

export const videoOperations = [listVideoModels]

function toVideoModel(model: Model): z.input<typeof videoModel> {
  const { video } = model
  return {
    id: model.id,
    canonical_slug: model.canonical_slug,
    name: model.name,
    created: model.listed_at,
    description: model.description,
    model_hub_id: model.model_hub_id,
    supported_aspect_ratios: video?.supported_aspect_ratios ?? null,
    supported_durations: video?.supported_durations ?? null,
    supported_frame_images: video?.supported_frame_images ?? null,
    supported_resolutions: video?.supported_resolutions ?? null,
    supported_sizes: video?.supported_sizes ?? null,
    creativity: video?.creativity ?? null,
    generate_audio: video?.generate_audio ?? null,
    seed: video?.seed ?? null,
    upscale_factor: video?.upscale_factor ?? null,
    allowed_passthrough_parameters: video?.allowed_passthrough_parameters ?? [],
    pricing_skus: video?.pricing_skus ?? null,
  }
}
