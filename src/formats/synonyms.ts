import { asObject, asString, type JsonObject } from '../platform/json/json-values.ts'
import { serverToolPrefix } from './call/call.ts'
import { foreignName, vendorNames } from './synonym-names.ts'
import { routerPrefix } from './vocabulary.ts'

/*
 * Names that clients of the public service OpenRouter use for what this API has another name for. They are translated
 * where a request is read and, for these clients, where a response is written: nothing else knows them.
 */
const foreignToolPrefix = `${foreignName}:`
const foreignRouterPrefix = `${foreignName}/`

/** Field by field: `enforce_zdr_anthropic` is `enforce_zdr_vendor_a`. */
const fieldNames: ReadonlyMap<string, string> = new Map(
  Object.entries(vendorNames).map(([name, neutral]) => [`enforce_zdr_${name}`, `enforce_zdr_${neutral}`]),
)

/** Values of `_shape`, by the neutral ones. */
const shapeNames: ReadonlyMap<string, string> = new Map([
  ['service', foreignName],
  ...Object.entries(vendorNames).map(([name, neutral]) => [neutral, name] as const),
])

/** A header and its synonym. */
export function listServiceHeaders(name: string): [own: string, synonym: string] {
  return [`x-service-${name}`, `x-${foreignName}-${name}`]
}

/** The value of `X-Service-<name>`, or of its synonym. */
export function readServiceHeader(headers: Headers, name: string): string | null {
  const [own, synonym] = listServiceHeaders(name)
  return headers.get(own) ?? headers.get(synonym)
}

/** Whether a client knows the names of the public service only. */
export function usesSynonyms({ headers }: Request): boolean {
  return headers.get('user-agent')?.includes(foreignName) ?? false
}

/** Whether a model of this name exists: then it is no synonym. */
type IsModel = (name: string) => boolean

/** Whether a body may need `translateSynonyms`: searching its text is cheaper than its objects, and few have one. */
export function mayHaveSynonyms(text: string): boolean {
  return text.includes(foreignName)
}

/** The body with the names of this API; the same object if it has no others. */
export function translateSynonyms(body: JsonObject, isModel: IsModel): JsonObject {
  const changes: JsonObject = {}
  const change = (name: string, translated: unknown) => {
    if (translated !== body[name]) changes[name] = translated
  }
  const { model, models, fallbacks, tools, tool_choice, plugins, input } = body
  if (typeof model === 'string') change('model', translateModel(model, isModel))
  if (models !== undefined)
    change(
      'models',
      translateEntries(models, (one) => translateModel(one, isModel)),
    )
  if (fallbacks !== undefined) change('fallbacks', translateFallbacks(fallbacks, isModel))
  if (tools !== undefined)
    change(
      'tools',
      translateEntries(tools, (tool) => translateTool(tool, isModel)),
    )
  if (tool_choice !== undefined) change('tool_choice', translateTool(tool_choice, isModel))
  if (plugins !== undefined)
    change(
      'plugins',
      translateEntries(plugins, (plugin) => translateSettings(plugin, isModel)),
    )
  if (Array.isArray(input)) change('input', translateEntries(input, translateType))
  for (const _name in changes) return { ...body, ...changes }
  return body
}

/** The body of a management request, whose fields have synonyms too. A field by its own name takes precedence. */
export function translateFieldNames(body: JsonObject): JsonObject {
  const translated: JsonObject = {}
  let isChanged = false
  for (const [name, value] of Object.entries(body)) {
    const own = fieldNames.get(name)
    if (own !== undefined) isChanged = true
    if (own === undefined || body[own] === undefined) translated[own ?? name] = value
  }
  return isChanged ? translated : body
}

/** `openrouter/auto`, with any suffix, is the router model `service/auto`. */
function translateModel(name: unknown, isModel: IsModel): unknown {
  if (typeof name !== 'string' || !name.startsWith(foreignRouterPrefix) || isModel(name)) return name
  const own = routerPrefix + name.slice(foreignRouterPrefix.length)
  return isModel(own) ? own : name
}

function translateTool(tool: unknown, isModel: IsModel): unknown {
  const translated = translateType(tool)
  return translated === tool ? tool : translateSettings(translated, isModel)
}

function translateType(value: unknown): unknown {
  const type = asString(asObject(value)?.type)
  return type?.startsWith(foreignToolPrefix)
    ? { ...asObject(value), type: serverToolPrefix + type.slice(foreignToolPrefix.length) }
    : value
}

const modelFields: ReadonlySet<string> = new Set(['model', 'models', 'analysis_models', 'allowed_models'])

/** The settings of a tool or plugin: models, further tools, and the engine that runs it. */
function translateSettings(value: unknown, isModel: IsModel): unknown {
  const settings = asObject(value)
  if (!settings) return value
  const translated: JsonObject = {}
  let isChanged = false
  for (const [name, setting] of Object.entries(settings)) {
    translated[name] = translateSetting(name, setting, isModel)
    isChanged ||= translated[name] !== setting
  }
  return isChanged ? translated : value
}

function translateSetting(name: string, value: unknown, isModel: IsModel): unknown {
  if (modelFields.has(name))
    return Array.isArray(value)
      ? translateEntries(value, (model) => translateModel(model, isModel))
      : translateModel(value, isModel)
  if (name === 'engine') return value === foreignName ? 'service' : value
  if (name === 'tools') return translateEntries(value, (tool) => translateTool(tool, isModel))
  return name === 'parameters' ? translateSettings(value, isModel) : value
}

/** A list of models for any reason, or a list for each. */
function translateFallbacks(fallbacks: unknown, isModel: IsModel): unknown {
  if (Array.isArray(fallbacks))
    return translateEntries(fallbacks, (entry) => translateSettings(entry, isModel))
  const lists = asObject(fallbacks)
  if (!lists) return fallbacks
  return Object.fromEntries(
    Object.entries(lists).map(([reason, models]) => [
      reason,
      translateEntries(models, (model) => translateModel(model, isModel)),
    ]),
  )
}

/** The same list if no entry changes. */
function translateEntries(list: unknown, translate: (entry: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list
  const translated = list.map(translate)
  return translated.every((entry, index) => entry === list[index]) ? list : translated
}

/** A result as a client that `usesSynonyms` reads it: its own values of `_shape`, and its fields next to ours. */
export function addSynonyms(result: unknown): unknown {
  const fields = asObject(result)
  if (!fields) return result
  const { data } = fields
  const own = { ...fields, ...describeFields(fields) }
  if (data === undefined) return own
  return { ...own, data: Array.isArray(data) ? data.map(addToEntry) : addToEntry(data) }
}

function addToEntry(entry: unknown): unknown {
  const fields = asObject(entry)
  return fields ? { ...fields, ...describeFields(fields) } : entry
}

function describeFields(fields: JsonObject): JsonObject {
  const shape = shapeNames.get(asString(fields._shape) ?? '')
  const renamed = [...fieldNames].filter(([, own]) => fields[own] !== undefined)
  return {
    ...(shape !== undefined && { _shape: shape }),
    ...Object.fromEntries(renamed.map(([name, own]) => [name, fields[own]])),
  }
}
