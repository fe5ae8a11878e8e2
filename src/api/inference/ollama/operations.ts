import { z } from 'zod'
import { hasOutput, type Model } from '../../../catalog/model.ts'
import { findModelOrRouter } from '../../../catalog/router-models.ts'
import { decodeEmbeddings } from '../../../formats/embeddings/decode.ts'
import { encodeEmbeddings as encodeOpenAi } from '../../../formats/embeddings/encode.ts'
import { embeddingsRequest } from '../../../formats/embeddings/schema.ts'
import {
  encodeEmbed,
  encodeEmbeddings,
  ollamaEmbeddingsRequest,
  ollamaEmbedRequest,
  translateEmbed,
  translateEmbeddings,
} from '../../../formats/ollama/embed.ts'
import { ollamaChat, ollamaGenerate } from '../../../formats/ollama/ollama.ts'
import { errorSchema } from '../../../formats/ollama/reply-writer.ts'
import { ollamaChatRequest, ollamaGenerateRequest } from '../../../formats/ollama/schema.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders } from '../../../inference/declarations.ts'
import { embeddingsTask } from '../../../inference/media/embeddings.ts'
import { listReachableModels } from '../../../inference/plan/model-access.ts'
import { formats } from '../../../inference/request/formats.ts'
import { handleInference } from '../../../inference/serve.ts'
import { handleCacheable } from '../../../inference/serve-cacheable.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { type GatewayError, gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { asString, type JsonObject } from '../../../platform/json/json-values.ts'
import { isoNow } from '../../../platform/time/clock.ts'

const tag = 'Ollama'
const { encodeError } = ollamaChat

/** The Ollama version these operations follow: clients detect features by it. */
const apiVersion = '0.12.6'

const replyRecord = z.looseObject({ model: z.string(), created_at: z.string(), done: z.boolean() })

const chatOperation = defineOperation({
  id: 'ollamaChat',
  method: 'POST',
  path: '/api/chat',
  root: true,
  tag,
  summary: 'Creates a chat completion in the Ollama chat format.',
  description:
    'Streams newline-delimited JSON unless `stream` is false. A request without messages returns at once, as if the model had been loaded.',
  permission: 'inference:write',
  inference: ollamaChat,
  body: ollamaChatRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: ['application/x-ndjson'],
  response: replyRecord
    .extend({ message: z.looseObject({ role: z.string() }) })
    .meta({ id: 'OllamaChatReply' }),
  handle: async ({ gateway, caller, region, httpRequest, body, source }) => {
    const requestBody = normalizeModel(body as JsonObject)
    const isLoading = !Array.isArray(requestBody.messages) || requestBody.messages.length === 0
    if (isLoading)
      return buildLoadResponse(gateway, requestBody, { message: { role: 'assistant', content: '' } })
    return handleInference(gateway, {
      caller,
      region,
      httpRequest,
      source,
      body: requestBody,
      format: formats.ollamaChat,
    })
  },
})

const generateOperation = defineOperation({
  id: 'ollamaGenerate',
  method: 'POST',
  path: '/api/generate',
  root: true,
  tag,
  summary: 'Completes a prompt in the Ollama generate format.',
  description:
    'Streams newline-delimited JSON unless `stream` is false. A request without a prompt returns at once, as if the model had been loaded.',
  permission: 'inference:write',
  inference: ollamaGenerate,
  body: ollamaGenerateRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: ['application/x-ndjson'],
  response: replyRecord.extend({ response: z.string() }).meta({ id: 'OllamaGenerateReply' }),
  handle: async ({ gateway, caller, region, httpRequest, body, source }) => {
    const requestBody = normalizeModel(body as JsonObject)
    if (!requestBody.prompt) return buildLoadResponse(gateway, requestBody, { response: '' })
    return handleInference(gateway, {
      caller,
      region,
      httpRequest,
      source,
      body: requestBody,
      format: formats.ollamaGenerate,
    })
  },
})

const embedding = {
  method: 'POST',
  root: true,
  tag,
  permission: 'inference:write',
  inference: { encodeError, errorSchema },
  headers: inferenceHeaders,
  errors: inferenceErrors,
} as const

const embedOperation = defineOperation({
  ...embedding,
  id: 'ollamaEmbed',
  path: '/api/embed',
  summary: 'Creates embeddings of texts in the Ollama embed format.',
  description: 'A request without input returns at once, as if the model had been loaded.',
  body: ollamaEmbedRequest,
  response: z
    .looseObject({ model: z.string(), embeddings: z.array(z.array(z.number())) })
    .meta({ id: 'OllamaEmbedReply' }),
  handle: async ({ gateway, caller, region, httpRequest, body }) => {
    const startedAt = performance.now()
    const requestBody = normalizeModel(body as JsonObject)
    const { input } = requestBody
    if (!input || (Array.isArray(input) && input.length === 0))
      return buildLoadResponse(gateway, requestBody, { embeddings: [] })
    const incoming = { caller, region, httpRequest, ...translateEmbed(requestBody), decode: decodeEmbeddings }
    return handleCacheable(gateway, incoming, embeddingsTask, (reply, context) =>
      encodeEmbed(reply, context, performance.now() - startedAt),
    )
  },
})

const embeddingsOperation = defineOperation({
  ...embedding,
  id: 'ollamaEmbeddings',
  path: '/api/embeddings',
  summary: 'Creates the embedding of a text in the older Ollama embeddings format.',
  description: 'A request without a prompt returns at once, as if the model had been loaded.',
  // Clients of the OpenAI format may have the base URL `/api`.
  inference: { ...embedding.inference, alternateFormat: { field: 'input', body: embeddingsRequest } },
  body: ollamaEmbeddingsRequest,
  response: z.looseObject({ embedding: z.array(z.number()) }).meta({ id: 'OllamaEmbeddingsReply' }),
  handle: async ({ gateway, caller, region, httpRequest, body }) => {
    const requestBody = normalizeModel(body as JsonObject)
    if (requestBody.input !== undefined) {
      const incoming = { caller, region, httpRequest, body: requestBody, decode: decodeEmbeddings }
      return handleCacheable(gateway, incoming, embeddingsTask, encodeOpenAi)
    }
    if (!requestBody.prompt) return buildLoadResponse(gateway, requestBody, { embedding: [] })
    const translated = translateEmbeddings(requestBody)
    const incoming = { caller, region, httpRequest, ...translated, decode: decodeEmbeddings }
    return handleCacheable(gateway, incoming, embeddingsTask, encodeEmbeddings)
  },
})

const getVersion = defineOperation({
  id: 'ollamaVersion',
  method: 'GET',
  path: '/api/version',
  root: true,
  tag,
  summary: 'Returns the supported version of the Ollama API.',
  permission: 'models:read',
  encodeError,
  errorSchema,
  response: z.strictObject({ version: z.string() }),
  handle: async () => ({ version: apiVersion }),
})

const details = z.strictObject({
  parent_model: z.string(),
  format: z.string(),
  family: z.string(),
  families: z.array(z.string()),
  parameter_size: z.string(),
  quantization_level: z.string(),
})

const listTags = defineOperation({
  id: 'ollamaTags',
  method: 'GET',
  path: '/api/tags',
  root: true,
  tag,
  summary: 'Lists the models with text output in the Ollama format.',
  description: 'The same models as `GET /models`.',
  permission: 'models:read',
  encodeError,
  errorSchema,
  response: z.strictObject({
    models: z.array(
      z.strictObject({
        name: z.string(),
        model: z.string(),
        modified_at: z.string(),
        size: z.int().describe('Always 0: no model files are stored here.'),
        digest: z.string(),
        details,
      }),
    ),
  }),
  handle: async (context) => ({
    models: (await listReachableModels(context, {}))
      .filter((model) => hasOutput(model, 'text'))
      .map((model) => ({
        name: model.id,
        model: model.id,
        modified_at: createdAtOf(model),
        size: 0,
        digest: sha256(model.id),
        details: toDetails(model),
      })),
  }),
})

const showModel = defineOperation({
  id: 'ollamaShow',
  method: 'POST',
  path: '/api/show',
  root: true,
  tag,
  summary: 'Retrieves the capabilities of a model in the Ollama format.',
  permission: 'models:read',
  encodeError,
  errorSchema,
  body: z
    .strictObject({
      model: z.string().min(1).optional(),
      name: z.string().min(1).optional().meta({ deprecated: true }),
      verbose: z.boolean().nullish(),
      system: z.string().nullish(),
      template: z.string().nullish(),
      options: z.looseObject({}).nullish(),
    })
    .meta({ override: { anyOf: [{ required: ['model'] }, { required: ['name'] }] } }),
  errors: [404],
  response: z.strictObject({
    modelfile: z.string(),
    parameters: z.string(),
    template: z.string(),
    modified_at: z.string(),
    details,
    model_info: z.record(z.string(), z.unknown()),
    capabilities: z.array(z.enum(['completion', 'tools', 'vision', 'thinking'])),
  }),
  handle: async ({ gateway, body }) => {
    const name = body.model ?? body.name
    if (name === undefined) throw invalidFieldError('model', 'is required')
    const match = findModelOrRouter(gateway.catalog, stripLatestTag(name))
    if (!match) throw modelNotFoundError(name)
    return toShowResponse(match.model)
  },
})

export const ollamaOperations = [
  chatOperation,
  generateOperation,
  embedOperation,
  embeddingsOperation,
  getVersion,
  listTags,
  showModel,
]

/** Clients append this tag to names that have none. */
function stripLatestTag(name: string): string {
  return name.endsWith(':latest') ? name.slice(0, -':latest'.length) : name
}

function normalizeModel(body: JsonObject): JsonObject {
  const name = asString(body.model) ?? ''
  return name.endsWith(':latest') ? { ...body, model: stripLatestTag(name) } : body
}

/** Clients also use this to check whether a model exists. */
function buildLoadResponse({ catalog, clock }: Gateway, { model }: JsonObject, empty: JsonObject): Response {
  const name = asString(model) ?? ''
  if (!name.includes('@preset/') && !findModelOrRouter(catalog, name)) throw modelNotFoundError(name)
  return Response.json({ model, created_at: isoNow(clock), ...empty, done: true, done_reason: 'load' })
}

/** Clients match this text before they offer to pull the model. */
function modelNotFoundError(name: string): GatewayError {
  return gatewayError('not_found', `model '${name.slice(0, 200)}' not found`)
}

function createdAtOf({ created }: Model): string {
  return new Date(created * 1000).toISOString()
}

function toDetails({ author }: Model): z.output<typeof details> {
  return {
    parent_model: '',
    format: '',
    family: author,
    families: [author],
    parameter_size: '',
    quantization_level: '',
  }
}

function toShowResponse(model: Model) {
  const { author, context_length, input_modalities, supported_parameters, reasoning } = model
  return {
    modelfile: '',
    parameters: '',
    template: '',
    modified_at: createdAtOf(model),
    details: toDetails(model),
    model_info: {
      'general.architecture': author,
      'general.basename': model.id,
      [`${author}.context_length`]: context_length,
    },
    capabilities: [
      'completion' as const,
      ...(supported_parameters.includes('tools') ? ['tools' as const] : []),
      ...(input_modalities.includes('image') ? ['vision' as const] : []),
      ...(reasoning || supported_parameters.includes('reasoning') ? ['thinking' as const] : []),
    ],
  }
}
