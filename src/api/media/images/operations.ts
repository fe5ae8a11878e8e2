import { z } from 'zod'
import { capability, imagePriceFields } from '../../../catalog/declared-model.ts'
import type { Endpoint, ImageCapabilities, Model } from '../../../catalog/model.ts'
import { modelPath, requireModel } from '../../../catalog/model-path.ts'
import { inputModalities, outputModalities } from '../../../formats/vocabulary.ts'
import { defineOperation } from '../../../http/operation.ts'
import { availabilityQuery, listReachableModels } from '../../../inference/plan/model-access.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { createImageOperations } from './create.ts'

const tag = 'Images'

const supportedParameters = z
  .record(z.string(), capability)
  .meta({ id: 'SupportedParameters', description: 'The supported values of each parameter, by name.' })

const imageEndpoint = z
  .strictObject({
    provider_name: z.string(),
    provider_slug: z.string(),
    provider_tag: z.string().nullable(),
    supported_parameters: supportedParameters,
    allowed_passthrough_parameters: z
      .array(z.string())
      .describe('Options accepted under `provider.options[provider_slug]`.'),
    supports_streaming: z.boolean(),
    pricing: z.array(z.strictObject({ ...imagePriceFields, cost_usd: z.number() })),
  })
  .meta({ id: 'ImageEndpoint' })

const imageModel = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    created: z.int(),
    description: z.string(),
    architecture: z.strictObject({
      input_modalities: z.array(z.enum(inputModalities)),
      output_modalities: z.array(z.enum(outputModalities)),
    }),
    supported_parameters: supportedParameters,
    supports_streaming: z.boolean(),
    endpoints: z.string().describe('The path that lists the endpoints.'),
  })
  .meta({ id: 'ImageModel' })

const listImageModels = defineOperation({
  id: 'listImageModels',
  method: 'GET',
  path: '/images/models',
  tag,
  summary: 'Lists the models that generate images.',
  permission: 'models:read',
  query: z.object(availabilityQuery),
  response: z.strictObject({ data: z.array(imageModel) }),
  handle: async (context) => ({
    data: (await listReachableModels(context, context.query)).flatMap((model) => {
      const capabilities = capabilitiesOf(model)
      return capabilities.length > 0 ? [toImageModel(model, capabilities)] : []
    }),
  }),
})

const listImageEndpoints = defineOperation({
  id: 'listImageEndpoints',
  method: 'GET',
  path: '/images/models/{author}/{slug}/endpoints',
  tag,
  summary: 'Lists the endpoints of an image model with their parameters and prices.',
  permission: 'models:read',
  params: modelPath,
  errors: [404],
  response: z.strictObject({ id: z.string(), endpoints: z.array(imageEndpoint) }),
  handle: async ({ gateway, params }) => {
    const { model, latest } = requireModel(gateway.catalog, params)
    const endpoints = model.endpoints.flatMap((endpoint) =>
      endpoint.image ? [toImageEndpoint(endpoint, endpoint.image)] : [],
    )
    if (endpoints.length === 0) throw gatewayError('not_found', 'The model does not generate images.')
    return { id: latest ?? model.id, endpoints }
  },
})

export const imageOperations = [...createImageOperations, listImageModels, listImageEndpoints]

function capabilitiesOf(model: Model): ImageCapabilities[] {
  return model.endpoints.flatMap((endpoint) => (endpoint.image ? [endpoint.image] : []))
}

function toImageModel(model: Model, capabilities: ImageCapabilities[]): z.input<typeof imageModel> {
  return {
    id: model.id,
    name: model.name,
    created: model.listed_at,
    description: model.description,
    architecture: {
      input_modalities: [...model.input_modalities],
      output_modalities: [...model.output_modalities],
    },
    // The first endpoint's value of a parameter wins; others add the parameters only they support.
    supported_parameters: Object.assign({}, ...capabilities.map((one) => one.supported_parameters).reverse()),
    supports_streaming: capabilities.some((one) => one.supports_streaming),
    endpoints: `/api/v1/images/models/${model.id}/endpoints`,
  }
}

function toImageEndpoint(endpoint: Endpoint, image: ImageCapabilities): z.input<typeof imageEndpoint> {
  return {
    provider_name: endpoint.provider.name,
    provider_slug: endpoint.provider.slug,
    provider_tag: endpoint.tag,
    supported_parameters: image.supported_parameters,
    allowed_passthrough_parameters: image.allowed_passthrough_parameters,
    supports_streaming: image.supports_streaming,
    pricing: image.pricing.map(({ cost_usd, ...entry }) => ({ ...entry, cost_usd: Number(cost_usd) })),
  }
}
