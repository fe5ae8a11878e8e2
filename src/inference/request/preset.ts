import type { Gateway } from '../../gateway/gateway.ts'
import type { ApiKey } from '../../identity/keys.ts'
import type { PresetFormat } from '../../platform/db/schema.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ActivePreset } from '../../storage/presets.ts'

export interface ExpandedRequest {
  body: JsonObject
  presetId: string | null
}

interface NamedPreset {
  slug: string
  /** The model in the request itself; empty if it names none. */
  model: string
}

type KeyPlace = Pick<ApiKey, 'organization_id' | 'workspace_id'>

/** Anything else cannot be a slug, and a database may reject it in a query. */
const presetSlug = /^[\w.-]{1,200}$/

const presetReference = /^(.*?)@preset\/([^@/]+)$/

/** Merges the preset that the body names into it; fields of the request take precedence. */
export async function expandPreset(
  gateway: Gateway,
  key: KeyPlace,
  target: PresetTarget,
  body: JsonObject,
): Promise<ExpandedRequest> {
  const reference = parsePresetReference(body)
  if (!reference) return { body, presetId: null }
  const preset = await findUsablePreset(gateway, key, reference.slug)
  if (!preset)
    throw gatewayError(
      'preset_unusable',
      `The preset "${reference.slug.slice(0, 100)}" does not exist or is not active.`,
    )
  const config = target.translate(preset)
  if (presetReference.test(asString(config.model) ?? '')) {
    throw invalidFieldError(
      'model',
      `the preset "${reference.slug}" refers to another preset; name a model in it`,
    )
  }
  const requested = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => value !== null && !presetOnly.has(name)),
  )
  const merged: JsonObject = { ...config, ...requested, ...(reference.model && { model: reference.model }) }
  for (const name of nestedFields) {
    const settings = asObject(config[name])
    if (settings) merged[name] = { ...settings, ...asObject(requested[name]) }
  }
  if (config.tools && requested.tools) merged.tools = mergeTools(config.tools, requested.tools)
  const prompted = preset.systemPrompt === null ? merged : target.addSystemPrompt(merged, preset.systemPrompt)
  return { body: prompted, presetId: preset.id }
}

/** Finds a preset; undefined for one of another workspace: the reply to a request can reveal its system prompt. */
async function findUsablePreset(
  { accounts }: Gateway,
  { organization_id, workspace_id }: KeyPlace,
  slug: string,
): Promise<ActivePreset | undefined> {
  if (!presetSlug.test(slug)) return undefined
  const preset = await accounts.findPreset(organization_id, slug)
  return preset && (preset.workspaceId ?? workspace_id) === workspace_id ? preset : undefined
}

/** Fields that hold the parameters of the model as an object; they are merged field by field. */
const nestedFields = ['generationConfig', 'options']

/** Settings of the response cache, for which requests have headers. */
const cacheFields = ['cache_enabled', 'cache_ttl_seconds', 'cache_mode', 'cache_scope', 'cache_threshold']
/** Fields that only a preset may set: a request uses headers instead, or cannot set them. */
const presetOnly = new Set(['preset', 'model', ...cacheFields])

/** `@preset/slug`, `author/model@preset/slug`, or the field `preset`. */
function parsePresetReference(body: JsonObject): NamedPreset | null {
  const model = asString(body.model) ?? ''
  const match = presetReference.exec(model)
  if (match) return { model: match[1] ?? '', slug: match[2] ?? '' }
  const slug = asString(body.preset)
  return slug ? { model, slug } : null
}

/** Names of the same field in each format. */
const fieldNames: { chat: string; messages: string; responses: string }[] = [
  { chat: 'max_tokens', messages: 'max_tokens', responses: 'max_output_tokens' },
  { chat: 'stop', messages: 'stop_sequences', responses: 'stop' },
]

/** Fields with another meaning, or none, in the other formats. */
const formatSpecificFields = new Set([
  'tools',
  'tool_choice',
  'response_format',
  'text',
  'output_config',
  'thinking',
  'reasoning',
  'reasoning_effort',
  'context_management',
  'include',
  'max_completion_tokens',
])

/** Renames the fields of a preset to those of a format. */
function translateTo(format: PresetFormat) {
  return (preset: ActivePreset): JsonObject => {
    if (preset.format === format) return preset.config
    const fields = Object.entries(preset.config).filter(([name]) => !formatSpecificFields.has(name))
    return Object.fromEntries(
      fields.map(([name, value]) => [
        fieldNames.find((names) => names[preset.format] === name)?.[format] ?? name,
        value,
      ]),
    )
  }
}

const geminiFieldNames: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  max_tokens: 'maxOutputTokens',
  seed: 'seed',
  frequency_penalty: 'frequencyPenalty',
  presence_penalty: 'presencePenalty',
}

const ollamaFieldNames: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  min_p: 'min_p',
  max_tokens: 'num_predict',
  seed: 'seed',
  stop: 'stop',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  repetition_penalty: 'repeat_penalty',
}

/** Cohere's names where they differ. */
const cohereFieldNames: Record<string, string> = { top_p: 'p', top_k: 'k', stop: 'stop_sequences' }

function translateToCohere(preset: ActivePreset): JsonObject {
  const fields = Object.entries(translateTo('chat')(preset)).filter(([name]) => !chatOnlyFields.has(name))
  return Object.fromEntries(fields.map(([name, value]) => [cohereFieldNames[name] ?? name, value]))
}

/** Fields that Cohere's format has with other values. */
const chatOnlyFields = new Set(['tool_choice', 'response_format'])

const routingFields = new Set([
  ...['model', 'models', 'fallbacks', 'provider', 'plugins', 'route'],
  ...cacheFields,
])

/** Creates a translation for formats that nest model parameters in a field; routing fields stay at the top level. */
function translateNested(field: string, names: Readonly<Record<string, string>>) {
  return (preset: ActivePreset): JsonObject => {
    const config = translateTo('chat')(preset)
    const routing = Object.entries(config).filter(([name]) => routingFields.has(name))
    const settings = Object.entries(config).flatMap(([name, value]) =>
      names[name] ? [[names[name], value] as const] : [],
    )
    return { ...Object.fromEntries(routing), [field]: Object.fromEntries(settings) }
  }
}

/** The functions that merge a preset into a body of one format. */
export interface PresetTarget {
  translate(preset: ActivePreset): JsonObject
  /** Adds the system prompt, unless the body already has one. */
  addSystemPrompt(body: JsonObject, text: string): JsonObject
}

export const presetTargets = {
  chat: { translate: translateTo('chat'), addSystemPrompt: prependSystemMessage },
  messages: { translate: translateTo('messages'), addSystemPrompt: (body, system) => ({ system, ...body }) },
  responses: {
    translate: translateTo('responses'),
    addSystemPrompt: (body, instructions) => ({ instructions, ...body }),
  },
  completions: { translate: translateTo('chat'), addSystemPrompt: prependToPrompt },
  gemini: {
    translate: translateNested('generationConfig', geminiFieldNames),
    addSystemPrompt: addSystemInstruction,
  },
  ollamaChat: {
    translate: translateNested('options', ollamaFieldNames),
    addSystemPrompt: prependSystemMessage,
  },
  cohereChat: { translate: translateToCohere, addSystemPrompt: prependSystemMessage },
  ollamaGenerate: {
    translate: translateNested('options', ollamaFieldNames),
    addSystemPrompt: (body, system) => ({ system, ...body }),
  },
} satisfies Record<string, PresetTarget>

function prependSystemMessage(body: JsonObject, content: string): JsonObject {
  const messages = asObjects(body.messages)
  if (messages.some(({ role }) => role === 'system' || role === 'developer')) return body
  return { ...body, messages: [{ role: 'system', content }, ...messages] }
}

/** A completion prompt has no roles, so the system prompt goes in front of the text. */
function prependToPrompt(body: JsonObject, text: string): JsonObject {
  return typeof body.prompt === 'string' ? { ...body, prompt: `${text}\n\n${body.prompt}` } : body
}

function addSystemInstruction(body: JsonObject, text: string): JsonObject {
  if (body.systemInstruction || body.system_instruction) return body
  return { ...body, systemInstruction: { parts: [{ text }] } }
}

/** The preset's tools in their order, replaced by the request's of the same name, then the rest of the request's. */
function mergeTools(ofPreset: unknown, ofRequest: unknown): JsonObject[] {
  const requested = asObjects(ofRequest)
  const merged = asObjects(ofPreset).map(
    (tool) => requested.find((other) => identifyTool(other) === identifyTool(tool)) ?? tool,
  )
  const mergedNames = new Set(merged.map(identifyTool))
  return [...merged, ...requested.filter((tool) => !mergedNames.has(identifyTool(tool)))]
}

function identifyTool(tool: JsonObject): string {
  const name =
    asString(asObject(tool.function)?.name) ??
    asString(tool.name) ??
    asString(asObject(tool.parameters)?.name)
  return name === undefined ? String(tool.type) : `${tool.type ?? 'custom'} ${name}`
}
