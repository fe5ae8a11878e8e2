import { z } from 'zod'
import { findModel } from '../../catalog/lookup.ts'
import type { Model } from '../../catalog/model.ts'
import { ollamaChat, ollamaGenerate } from '../../dialects/ollama/ollama.ts'
import { ollamaChatRequest, ollamaGenerateRequest } from '../../dialects/ollama/schema.ts'
import { badField, fail, type GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { isoNow } from '../../lib/clock.ts'
import { type JsonObject, textOf } from '../../lib/loose.ts'
import { sha256 } from '../../lib/secret.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import { formats } from '../../pipeline/formats.ts'
import { listedModels } from '../../pipeline/model-access.ts'
import { inferenceErrors, inferenceHeaders } from '../../pipeline/operations.ts'

const tag = 'Ollama'
const { encodeError, errorSchema } = ollamaChat

/** Of the API these operations follow: clients look for features by it. */
const apiVersion = '0.12.6'

const record = z.looseObject({ model: z.string(), created_at: z.string(), done: z.boolean() })

const chatOperation = operation({
  id: 'ollamaChat',
  method: 'POST',
  path: '/api/chat',
  root: true,
  tag,
  summary: "Ask a model, in the format of Ollama's chat",
  description:
    'Streams newline-delimited JSON unless `stream` is false. Without messages it answers at once, as if the model had been loaded.',
  access: 'inference',
  inference: ollamaChat,
  body: ollamaChatRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherTypes: ['application/x-ndjson'],
  response: record.extend({ message: z.looseObject({ role: z.string() }) }).meta({ id: 'OllamaChatReply' }),
  handle: async ({ gateway, caller, region, request, body, source }) => {
    const given = named(body as JsonObject)
    const isLoading = !Array.isArray(given.messages) || given.messages.length === 0
    if (isLoading) return loaded(gateway, given, { message: { role: 'assistant', content: '' } })
    return answer(gateway, { caller, region, request, source, body: given, format: formats.ollamaChat })
  },
})

const generateOperation = operation({
  id: 'ollamaGenerate',
  method: 'POST',
  path: '/api/generate',
  root: true,
  tag,
  summary: "Complete a prompt, in the format of Ollama's generate",
  description:
    'Streams newline-delimited JSON unless `stream` is false. Without a prompt it answers at once, as if the model had been loaded.',
  access: 'inference',
  inference: ollamaGenerate,
  body: ollamaGenerateRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherTypes: ['application/x-ndjson'],
  response: record.extend({ response: z.string() }).meta({ id: 'OllamaGenerateReply' }),
  handle: async ({ gateway, caller, region, request, body, source }) => {
    const given = named(body as JsonObject)
    if (!given.prompt) return loaded(gateway, given, { response: '' })
    return answer(gateway, { caller, region, request, source, body: given, format: formats.ollamaGenerate })
  },
})

const getVersion = operation({
  id: 'ollamaVersion',
  method: 'GET',
  path: '/api/version',
  root: true,
  tag,
  summary: "The version of Ollama's API that is spoken here",
  access: 'any',
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

const listTags = operation({
  id: 'ollamaTags',
  method: 'GET',
  path: '/api/tags',
  root: true,
  tag,
  summary: 'List the models that answer with text, as Ollama lists those it has',
  description: 'Those that `GET /models` lists.',
  access: 'any',
  encodeError,
  errorSchema,
  response: z.strictObject({
    models: z.array(
      z.strictObject({
        name: z.string(),
        model: z.string(),
        modified_at: z.string(),
        size: z.int().describe('0: nothing is stored here'),
        digest: z.string(),
        details,
      }),
    ),
  }),
  handle: async (ask) => ({
    models: (await listedModels(ask, {}))
      .filter(({ output_modalities }) => output_modalities.includes('text'))
      .map((model) => ({
        name: model.id,
        model: model.id,
        modified_at: createdAt(model),
        size: 0,
        digest: sha256(model.id),
        details: detailsOf(model),
      })),
  }),
})

const showModel = operation({
  id: 'ollamaShow',
  method: 'POST',
  path: '/api/show',
  root: true,
  tag,
  summary: 'What a model can do, as Ollama shows it',
  access: 'any',
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
    if (name === undefined) throw badField('model', 'is required')
    const found = findModel(gateway.catalog, withoutTag(name))
    if (!found) throw unknownModel(name)
    return shown(found.model)
  },
})

export const ollamaOperations = [chatOperation, generateOperation, getVersion, listTags, showModel]

/** Clients add the tag to every name without one. */
function withoutTag(name: string): string {
  return name.endsWith(':latest') ? name.slice(0, -':latest'.length) : name
}

function named(body: JsonObject): JsonObject {
  const name = textOf(body.model) ?? ''
  return name.endsWith(':latest') ? { ...body, model: withoutTag(name) } : body
}

/** Clients also ask this to learn whether a model exists. */
function loaded({ catalog, clock }: Gateway, { model }: JsonObject, empty: JsonObject): Response {
  const name = textOf(model) ?? ''
  if (!name.includes('@preset/') && !findModel(catalog, name)) throw unknownModel(name)
  return Response.json({ model, created_at: isoNow(clock), ...empty, done: true, done_reason: 'load' })
}

/** In the words that clients look for before they offer to pull it. */
function unknownModel(name: string): GatewayError {
  return fail('not_found', `model '${name.slice(0, 200)}' not found`)
}

function createdAt({ created }: Model): string {
  return new Date(created * 1000).toISOString()
}

function detailsOf({ author }: Model): z.output<typeof details> {
  return {
    parent_model: '',
    format: '',
    family: author,
    families: [author],
    parameter_size: '',
    quantization_level: '',
  }
}

function shown(model: Model) {
  const { author, context_length, input_modalities, supported_parameters, reasoning } = model
  return {
    modelfile: '',
    parameters: '',
    template: '',
    modified_at: createdAt(model),
    details: detailsOf(model),
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
