import type { Schemas } from '../../api/client.ts'
import { isObject, type QuoteFormat, type RequestBody, type SavedRequest } from './request-set.ts'

export type PresetVersion = Schemas['PresetVersion']

/** A simulated change. Empty fields change nothing. */
export interface Change {
  model: string
  /** Further models, tried in this order. */
  models: string[]
  sort: string | null
  /** Whether the order applies only where the request has none, as the default of a workspace does. */
  isDefaultSort: boolean
  order: string[]
  only: string[]
  ignore: string[]
  allowFallbacks: boolean
  denyTraining: boolean
  zdr: boolean
  preset: PresetChange | null
}

interface PresetChange {
  slug: string
  /** Null until it is chosen. */
  version: number | null
  /** Applies the preset to requests that do not name it, too. */
  forAll: boolean
}

export const noChange: Change = {
  model: '',
  models: [],
  sort: null,
  isDefaultSort: false,
  order: [],
  only: [],
  ignore: [],
  allowFallbacks: true,
  denyTraining: false,
  zdr: false,
  preset: null,
}

export function hasChange(change: Change): boolean {
  return JSON.stringify({ ...change, isDefaultSort: false }) !== JSON.stringify(noChange)
}

/** The body with the change; a text says why it cannot be made. */
export function applyChange(
  request: SavedRequest,
  change: Change,
  version: PresetVersion | null,
): RequestBody | string {
  const expanded = change.preset && version ? applyPreset(request, change.preset, version) : request.body
  if (typeof expanded === 'string') return expanded
  const provider = {
    ...(isObject(expanded.provider) && expanded.provider),
    ...preferencesOf(change, expanded),
  }
  return {
    ...expanded,
    ...(change.model && { model: change.model }),
    ...(change.models.length > 0 && { models: change.models }),
    ...(Object.keys(provider).length > 0 && { provider }),
  }
}

function preferencesOf(change: Change, body: RequestBody): Record<string, unknown> {
  const { sort, isDefaultSort, order, only, ignore, allowFallbacks, denyTraining, zdr } = change
  const own = isObject(body.provider) ? body.provider : {}
  const hasOwnOrder = own.sort !== undefined || own.order !== undefined
  return {
    ...(sort && !(isDefaultSort && hasOwnOrder) && { sort }),
    ...(order.length > 0 && { order }),
    ...(only.length > 0 && { only }),
    ...(ignore.length > 0 && { ignore }),
    ...(!allowFallbacks && { allow_fallbacks: false }),
    ...(denyTraining && { data_collection: 'deny' }),
    ...(zdr && { zdr: true }),
  }
}

const presetReference = /^(.*?)@preset\/([^@/]+)$/

/** The preset that a request names, and its own model, if it has one. */
function referenceOf(body: RequestBody): { slug: string; model: string } | null {
  const model = typeof body.model === 'string' ? body.model : ''
  const match = presetReference.exec(model)
  if (match) return { model: match[1] ?? '', slug: match[2] ?? '' }
  return typeof body.preset === 'string' ? { model, slug: body.preset } : null
}

/** Merges a preset as the server does: fields of the request take precedence. */
function applyPreset(
  request: SavedRequest,
  { slug, forAll }: PresetChange,
  { format, config, system_prompt }: PresetVersion,
): RequestBody | string {
  const { body } = request
  const reference = referenceOf(body)
  if (reference?.slug !== slug && !forAll) return body
  const own = formatOf(request)
  if (own !== format) return `The version is for requests in the format ${format}, and this one is in ${own}.`
  const { model: _, preset: __, ...fields } = body
  const merged: RequestBody = { ...config, ...fields, ...(reference?.model && { model: reference.model }) }
  if (merged.model === undefined && merged.models === undefined) merged.model = body.model
  if (Array.isArray(config.tools) && Array.isArray(body.tools))
    merged.tools = mergeTools(config.tools, body.tools)
  return system_prompt === null ? merged : addSystemPrompt(merged, format, system_prompt)
}

function formatOf({ format, body }: SavedRequest): QuoteFormat {
  return (
    format ?? (body.input !== undefined ? 'responses' : body.prompt !== undefined ? 'completions' : 'chat')
  )
}

function addSystemPrompt(body: RequestBody, format: PresetVersion['format'], text: string): RequestBody {
  if (format === 'messages') return { system: text, ...body }
  if (format === 'responses') return { instructions: text, ...body }
  const messages: unknown[] = Array.isArray(body.messages) ? body.messages : []
  const hasOwn = messages.some(
    (message) => isObject(message) && ['system', 'developer'].includes(String(message.role)),
  )
  return hasOwn ? body : { ...body, messages: [{ role: 'system', content: text }, ...messages] }
}

function mergeTools(ofPreset: unknown[], ofRequest: unknown[]): unknown[] {
  const names = new Set(ofRequest.map(nameOfTool))
  return [...ofPreset.filter((tool) => !names.has(nameOfTool(tool))), ...ofRequest]
}

function nameOfTool(tool: unknown): string {
  if (!isObject(tool)) return ''
  const { type, name } = tool
  return `${type ?? 'custom'} ${(isObject(tool.function) ? tool.function.name : name) ?? ''}`
}
